import type { ClaimOptions, DeliveryStore } from "../delivery-store.js";
import { retryConflicts } from "../conflict-retry.js";
import { TIME_LIMIT_HOOK, type TakesTimeLimit } from "../receiver-hooks.js";
import { LostAnswerError } from "../transaction-errors.js";
import { readClaimRow } from "./claim-row.js";
import { maintenanceOf, type PostgresMaintenance } from "./maintenance.js";
import { poolOptions, quotedTable } from "./options.js";
import type { PostgresPool } from "./postgres-pool.js";
import { query } from "./query.js";
import { LEASE_LEFT_MS, SYNCHRONOUS_COMMIT, fromNow } from "./sql-text.js";
import { StatementLimits } from "./statement-limits.js";

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /**
   * A `Pool` of pg 8. Add a listener for its `error`: without one, an idle connection that breaks ends the
   * process. Anything else with the same `query` works too, if it closes connections that no longer answer.
   */
  readonly pool: PostgresPool;
  /**
   * `table` or `schema.table`, case-sensitive, each part 1 to 63 letters, digits and `_` with no digit
   * first. Default `gateway_deliveries`. Give each application its own table.
   */
  readonly table?: string | undefined;
}

/** A `DeliveryStore` on a table of PostgreSQL. */
export interface PostgresStore extends DeliveryStore, PostgresMaintenance {}

/**
 * A store on a table of PostgreSQL, for several processes and hosts. The server's clock decides when
 * leases and retention end. Create the table first: `migrate()`, or the SQL of `postgresSchema`.
 *
 * Needs PostgreSQL 12 or later. Each call is a transaction of its own and keeps nothing in the session, so
 * a pooler in transaction mode (PgBouncer) and any isolation level work.
 *
 * The server ends a call that takes longer than the receiver's `dependencyTimeoutMs` (10 seconds if no
 * receiver uses the store). If the server does not answer at all, the connection is closed two seconds
 * later and the call rejects with a `LostAnswerError`. A row that was claimed and never completed is
 * remembered for the retention, counted from its last claim.
 *
 * @throws ConfigurationError (`unknown_option`, `invalid_option`, `invalid_options`) for options that
 * cannot work.
 * @example
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
 * pool.on("error", console.error);
 * const store = postgresStore({ pool });
 * await store.migrate();
 * const receiver = createWebhookReceiver({ secret, store, handlers });
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  const { pool, table } = poolOptions("postgresStore", options, ["query"]);
  const statements = statementsOn(quotedTable(table));
  const limits = new StatementLimits();

  const run = (statement: string, values: unknown[]) => {
    const deadline = limits.deadline();
    return retryConflicts(() => query(pool, limits, deadline, statement, values), limits.mayRetry);
  };

  const claim = (key: string, owner: string, { leaseMs, retentionMs }: ClaimOptions) => {
    const deadline = limits.deadline();
    const values = [key, owner, leaseMs, retentionMs];
    return retryConflicts(async () => {
      const { rows } = await query(pool, limits, deadline, statements.claim, values);
      if (rows.length > 0) return readClaimRow(rows);
      return readClaimRow((await query(pool, limits, deadline, statements.look, [key])).rows);
    }, limits.mayRetry);
  };

  const release = async (key: string, owner: string): Promise<void> => {
    await run(statements.release, [key, owner]);
  };

  const store: PostgresStore & TakesTimeLimit = {
    async claim(key, owner, times) {
      try {
        return await claim(key, owner, times);
      } catch (error) {
        // The claim may have been granted, although no delivery runs under its lease.
        if (error instanceof LostAnswerError) await release(key, owner).catch(() => undefined);
        throw error;
      }
    },

    async renew(key, owner, { leaseMs }) {
      const { rowCount } = await run(statements.renew, [key, owner, leaseMs]);
      return rowCount === 1;
    },

    async complete(key, _owner, { retentionMs }) {
      await run(statements.complete, [key, retentionMs]);
    },

    release,

    [TIME_LIMIT_HOOK](dependencyTimeoutMs) {
      limits.allow(dependencyTimeoutMs);
    },

    ...maintenanceOf(pool, table),
  };
  return store;
}

function statementsOn(table: string) {
  return {
    // Inserts the row, takes it over, or changes nothing and returns no row. It reads nothing that another
    // claim writes, so it never fails at isolation level serializable. With `look` in front of it,
    // 5 000 claims took 5 700 retries. The owner of the lease may claim again.
    claim: `INSERT INTO ${table} AS held (key, owner, lease_until, expires_at)
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
      RETURNING CASE WHEN takeover THEN 'takeover' ELSE 'claimed' END AS state`,

    // Says why nothing was claimed. No row means that the reason has just ended: the claim is tried again.
    // As a part of the claim's statement it would make every claim a quarter slower.
    look: `SELECT
        CASE WHEN owner IS NULL THEN 'completed' ELSE 'in_flight' END AS state,
        ${LEASE_LEFT_MS} AS retry_after_ms
      FROM ${table}
      WHERE key = $1 AND expires_at > clock_timestamp()
        AND (owner IS NULL OR lease_until > clock_timestamp())`,

    renew: `UPDATE ${table} SET
        lease_until = ${fromNow("$3")},
        expires_at = greatest(expires_at, ${fromNow("$3")})
      WHERE key = $1 AND owner = $2 AND lease_until > clock_timestamp()`,

    complete: `INSERT INTO ${table} AS held (key, expires_at)
      SELECT $1, ${fromNow("$2")} WHERE ${SYNCHRONOUS_COMMIT} IS NOT NULL
      ON CONFLICT (key) DO UPDATE SET
        owner = NULL,
        lease_until = NULL,
        expires_at = excluded.expires_at
      WHERE held.owner IS NOT NULL OR held.expires_at <= clock_timestamp()`,

    // A takeover keeps its row and only its lease ends, so that the next claim is a takeover too: an
    // earlier run may have had its effect, however many later runs failed.
    release: `WITH ended AS (
        UPDATE ${table} SET lease_until = clock_timestamp()
        WHERE key = $1 AND owner = $2 AND takeover
      )
      DELETE FROM ${table} WHERE key = $1 AND owner = $2 AND takeover IS NOT TRUE`,
  };
}
