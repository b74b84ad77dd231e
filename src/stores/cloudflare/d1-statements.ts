import { NOW } from "../sqlite-table.js";

/** The statements on the table. Each writes, so D1 never runs a batch of them on a read replica. */
export function d1Statements(table: string) {
  const rows = `"${table}"`;
  return {
    // Inserts the row, takes it over, or changes nothing. The owner of the lease may claim again.
    claim: `INSERT INTO ${rows} AS held (key, owner, lease_ends_at, forget_at)
      VALUES (?1, ?2, ${NOW} + ?3, ${NOW} + max(?3, ?4))
      ON CONFLICT (key) DO UPDATE SET
        owner = excluded.owner,
        lease_ends_at = excluded.lease_ends_at,
        forget_at = excluded.forget_at,
        takeover = held.forget_at > ${NOW} AND (held.takeover = 1 OR held.lease_ends_at <= ${NOW})
      WHERE held.forget_at <= ${NOW} OR held.lease_ends_at <= ${NOW} OR held.owner = excluded.owner`,

    // Runs in the transaction of the claim: says who holds the key now.
    look: `SELECT owner, takeover, lease_ends_at - ${NOW} AS left_ms FROM ${rows} WHERE key = ?1`,

    renew: `UPDATE ${rows} SET
        lease_ends_at = ${NOW} + ?3,
        forget_at = max(forget_at, ${NOW} + ?3)
      WHERE key = ?1 AND owner = ?2 AND lease_ends_at > ${NOW}
      RETURNING 1`,

    complete: `INSERT INTO ${rows} AS held (key, forget_at) VALUES (?1, ${NOW} + ?2)
      ON CONFLICT (key) DO UPDATE SET owner = NULL, lease_ends_at = NULL, forget_at = excluded.forget_at
      WHERE held.owner IS NOT NULL OR held.forget_at <= ${NOW}`,

    // A takeover keeps its row and only its lease ends, so that the next claim is a takeover too.
    endTakeover: `UPDATE ${rows} SET lease_ends_at = ${NOW}
      WHERE key = ?1 AND owner = ?2 AND takeover = 1`,

    forget: `DELETE FROM ${rows} WHERE key = ?1 AND owner = ?2 AND takeover IS NOT 1`,

    // There is no index on forget_at: it would cost a written row for each claim and each completion. So
    // each batch goes on behind the last key of the one before.
    purge: `DELETE FROM ${rows} WHERE key IN (
        SELECT key FROM ${rows} WHERE key > ?1 AND forget_at <= ${NOW} ORDER BY key LIMIT ?2
      ) RETURNING key`,
  };
}
