// The statements of `postgresTransactions` on `table`, which is a quoted name. Parameters: key, retention.
import { LEASE_LEFT_MS, fromNow } from "./sql-text.js";

/**
 * Inserts the row or takes it over, or changes nothing and returns no row. A row that is within its
 * retention and can be taken is an ended lease, so taking it is a takeover.
 *
 * An INSERT waits for the end of another transaction that has inserted the same key. So an advisory lock
 * is tried first, and a redelivery is answered at once. The lock ends with the transaction, as poolers in
 * transaction mode require. It only saves time: without it a redelivery would wait, but because of the row
 * it would not be processed twice.
 */
export function beginStatement(table: string): string {
  return `INSERT INTO ${table} AS held (key, expires_at)
      SELECT $1, ${fromNow("$2")} WHERE ${lockOf(table)}
      ON CONFLICT (key) DO UPDATE SET
        owner = NULL,
        lease_until = NULL,
        expires_at = excluded.expires_at,
        takeover = held.expires_at > clock_timestamp()
      WHERE held.expires_at <= clock_timestamp() OR held.lease_until <= clock_timestamp()
      RETURNING CASE WHEN takeover THEN 'takeover' ELSE 'claimed' END AS state, xmin::text AS version`;
}

/**
 * Says why the row could not be taken. No row means that the reason has just ended. As a part of the first
 * statement it would make the server work half as long again for every delivery.
 */
export function lookStatement(table: string): string {
  return `SELECT CASE WHEN owner IS NULL THEN 'completed' ELSE 'in_flight' END AS state,
        ${LEASE_LEFT_MS} AS retry_after_ms
      FROM ${table}
      WHERE key = $1 AND expires_at > clock_timestamp()
        AND (owner IS NULL OR lease_until > clock_timestamp())
    UNION ALL
    SELECT 'in_flight', NULL WHERE NOT ${lockOf(table)}`;
}

/** Deletes only that version of the row: another process may have handled the delivery since. */
export function forgetStatement(table: string): string {
  return `DELETE FROM ${table} WHERE key = $1 AND xmin = $2::xid`;
}

/** Only one transaction at a time has the lock of a key. `$1` is the key. */
function lockOf(table: string): string {
  return `pg_try_advisory_xact_lock(
      hashtextextended($1::text COLLATE "C", '${table}'::regclass::oid::bigint))`;
}
