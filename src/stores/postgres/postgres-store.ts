import type { ClaimOptions, DeliveryStore } from "../delivery-store.js";
import { TIME_LIMIT_HOOK, type TakesTimeLimit } from "../receiver-hooks.js";
import { ask, LostAnswerError } from "./ask.js";
import { readClaimRow } from "./claim-row.js";
import { DURABLY } from "./durably.js";
import { LEASE_LEFT_MS, fromNow } from "./moments.js";
import { poolOptions } from "./pool-options.js";
import type { PostgresPool } from "./postgres-pool.js";
import { settled } from "./settled.js";
import { StatementLimits } from "./statement-limits.js";
import { quotedTable } from "./table-name.js";
import { createUpkeep, type PostgresUpkeep } from "./upkeep.js";

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /**
   * A `Pool` of pg 8. Listen for its `error`. Anything else that has its `query` will do too, but has to
   * give up by itself connections that a network swallows.
   */
  readonly pool: PostgresPool;
  /** `table` or `schema.table`, case-sensitive. Default `gateway_deliveries`. One an application. */
  readonly table?: string | undefined;
}

/** A `DeliveryStore` on a table of PostgreSQL. */
export interface PostgresStore extends DeliveryStore, PostgresUpkeep {}

/**
 * Remembers deliveries in a table, judged by the server's clock. Needs PostgreSQL 12 or later, and the
 * table: `migrate()`. Each statement stands alone, so it goes through poolers in transaction mode
 * (PgBouncer), and takes any isolation level. The server ends a call that takes longer than the receiver's
 * `dependencyTimeoutMs` (10 seconds where no receiver uses the store), whatever it waits for; where the
 * server does not answer at all, the connection is closed two seconds later. A row that was claimed and never completed lives as long as one that was: its
 * retention from its last claim.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  const { pool, table } = poolOptions("postgresStore", options, ["query"]);
  const statements = statementsOn(quotedTable(table));
  const limits = new StatementLimits();

  const run = (statement: string, values: unknown[]) => {
    const deadline = limits.deadline();
    return settled(() => ask(pool, limits, deadline, statement, values), limits.mayTryAgain);
  };

  const claim = (key: string, owner: string, { leaseMs, retentionMs }: ClaimOptions) => {
    const deadline = limits.deadline();
    const values = [key, owner, leaseMs, retentionMs];
    return settled(async () => {
      const { rows } = await ask(pool, limits, deadline, statements.claim, values);
      if (rows.length > 0) return readClaimRow(rows);
      return readClaimRow((await ask(pool, limits, deadline, statements.look, [key])).rows);
    }, limits.mayTryAgain);
  };

  const release = async (key: string, owner: string): Promise<void> => {
    await run(statements.release, [key, owner]);
  };

  const store: PostgresStore & TakesTimeLimit = {
    async claim(key, owner, times) {
      try {
        return await claim(key, owner, times);
      } catch (error) {
        // It may have been granted all the same, and then nothing holds it.
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
      limits.tell(dependencyTimeoutMs);
    },

    ...createUpkeep(pool, table),
  };
  return store;
}

function statementsOn(table: string) {
  return {
    // Inserts the row, takes it over, or leaves it as it is and answers nothing. It reads nothing that
    // another claim writes, and so never fails at isolation level serializable (with the look in front,
    // 5 000 claims took 5 700 retries). The owner may claim again.
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

    // Why nothing was claimed. What has ended since gives no row, and is asked for again. As a part of
    // the claim's statement it would cost every claim a quarter of its speed.
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
      SELECT $1, ${fromNow("$2")} WHERE ${DURABLY} IS NOT NULL
      ON CONFLICT (key) DO UPDATE SET
        owner = NULL,
        lease_until = NULL,
        expires_at = excluded.expires_at
      WHERE held.owner IS NOT NULL OR held.expires_at <= clock_timestamp()`,

    // A takeover's lease is ended, and its row stays: the next one takes over too. An earlier run may
    // have left its effect, however many tried again and failed since.
    release: `WITH ended AS (
        UPDATE ${table} SET lease_until = clock_timestamp()
        WHERE key = $1 AND owner = $2 AND takeover
      )
      DELETE FROM ${table} WHERE key = $1 AND owner = $2 AND NOT takeover`,
  };
}
