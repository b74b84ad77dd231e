import type { DeliveryStore } from "../delivery-store.js";
import { readClaimRow } from "./claim-row.js";
import { LEASE_LEFT_MS, fromNow } from "./moments.js";
import { checkPoolOptions } from "./pool-options.js";
import type { PostgresPool } from "./postgres-pool.js";
import { settled } from "./settled.js";
import { quotedTable } from "./table-name.js";
import { createUpkeep, type PostgresUpkeep } from "./upkeep.js";

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /** A `Pool` of pg 8, or what has its `query`. Set its `connectionTimeoutMillis`, and listen for its `error`. */
  readonly pool: PostgresPool;
  /** `table` or `schema.table`, case-sensitive. Default `gateway_deliveries`. One an application. */
  readonly table?: string | undefined;
}

/** A `DeliveryStore` on a table of PostgreSQL. */
export interface PostgresStore extends DeliveryStore, PostgresUpkeep {}

/**
 * Remembers deliveries in a table, judged by the server's clock. Needs PostgreSQL 12 or later, and the
 * table: `migrate()`. Each method is one statement, so it goes through poolers in transaction mode
 * (PgBouncer), and takes any isolation level. A row that was claimed and never completed lives as long
 * as one that was: its retention from its last claim.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  checkPoolOptions(options, ["query"]);
  const { pool } = options;
  const statements = statementsOn(quotedTable(options.table));
  const run = (statement: string, values: unknown[]) =>
    settled(() => pool.query(statement, values));

  return {
    claim(key, owner, { leaseMs, retentionMs }) {
      return settled(async () => {
        const { rows } = await pool.query(statements.claim, [key, owner, leaseMs, retentionMs]);
        return readClaimRow(rows);
      });
    },

    async renew(key, owner, leaseMs) {
      const { rowCount } = await run(statements.renew, [key, owner, leaseMs]);
      return rowCount === 1;
    },

    async complete(key, _owner, retentionMs) {
      await run(statements.complete, [key, retentionMs]);
    },

    async release(key, owner) {
      await run(statements.release, [key, owner]);
    },

    ...createUpkeep(pool, options.table),
  };
}

function statementsOn(table: string) {
  return {
    // The row is inserted, taken over, or left as it is and looked at. The look comes last and only where
    // nothing was claimed: a claim then reads nothing that another one writes, and never fails at
    // isolation level serializable (read first, 5 000 claims took 5 700 retries). It sees the table as
    // of the start of the statement; what was changed since gives no row, and is asked for again.
    claim: `WITH claimed AS (
      INSERT INTO ${table} AS held (key, owner, lease_until, expires_at)
      VALUES ($1, $2, ${fromNow("$3")}, ${fromNow("greatest($3::float8, $4::float8)")})
      ON CONFLICT (key) DO UPDATE SET
        owner = excluded.owner,
        lease_until = ${fromNow("$3")},
        expires_at = excluded.expires_at,
        takeover = held.expires_at > clock_timestamp()
          AND (held.takeover OR held.lease_until <= clock_timestamp())
      WHERE held.expires_at <= clock_timestamp()
        OR held.lease_until <= clock_timestamp()
        OR held.owner = excluded.owner
      RETURNING takeover
    )
    SELECT CASE WHEN takeover THEN 'takeover' ELSE 'claimed' END AS state, NULL AS retry_after_ms
    FROM claimed
    UNION ALL
    SELECT CASE WHEN owner IS NULL THEN 'completed' ELSE 'in_flight' END, ${LEASE_LEFT_MS}
    FROM ${table}
    WHERE key = $1 AND expires_at > clock_timestamp()
      AND (owner IS NULL OR (owner <> $2 AND lease_until > clock_timestamp()))
      AND NOT EXISTS (SELECT FROM claimed)`,

    renew: `UPDATE ${table} SET
        lease_until = ${fromNow("$3")},
        expires_at = greatest(expires_at, ${fromNow("$3")})
      WHERE key = $1 AND owner = $2 AND lease_until > clock_timestamp()`,

    complete: `INSERT INTO ${table} AS held (key, expires_at) VALUES ($1, ${fromNow("$2")})
      ON CONFLICT (key) DO UPDATE SET
        owner = NULL,
        lease_until = NULL,
        expires_at = excluded.expires_at
      WHERE held.owner IS NOT NULL OR held.expires_at <= clock_timestamp()`,

    release: `DELETE FROM ${table} WHERE key = $1 AND owner = $2`,
  };
}
