import type { ClaimResult } from "../delivery-store.js";
import { TIME_LIMIT_HOOK, type TakesTimeLimit } from "../receiver-hooks.js";
import type { TransactionalStore, WorkFacts } from "../transactional-store.js";
import { ask } from "./ask.js";
import { readClaimRow, readVersion } from "./claim-row.js";
import { LEASE_LEFT_MS, fromNow } from "./moments.js";
import { poolOptions } from "./pool-options.js";
import type { PostgresClient, PostgresClientOf, PostgresTransactionPool } from "./postgres-pool.js";
import { settled } from "./settled.js";
import { StatementLimits } from "./statement-limits.js";
import { quotedTable } from "./table-name.js";
import { openTransaction, type Transaction } from "./transaction.js";
import { createUpkeep, type PostgresUpkeep } from "./upkeep.js";

/** Options of `postgresTransactions`. */
export interface PostgresTransactionsOptions<Pool extends PostgresTransactionPool> {
  /**
   * A `Pool` of pg 8, or what has its `connect` and `query`, with a client for each delivery that is
   * handled at a time. Listen for its `error`.
   */
  readonly pool: Pool;
  /** `table` or `schema.table`, case-sensitive. Default `gateway_deliveries`. One an application. */
  readonly table?: string | undefined;
}

/** A `TransactionalStore` on a table of PostgreSQL; a `Tx` is a client of the pool. */
export interface PostgresTransactions<Tx> extends TransactionalStore<Tx>, PostgresUpkeep {}

/**
 * Remembers a delivery in the transaction of the handler's own writes, which the handler makes on
 * `context.tx`: both are there, or neither. Needs PostgreSQL 12 or later, and the table: `migrate()`.
 * The retention counts from the start of the transaction, whose isolation level is the connection's
 * default.
 *
 * The transaction is begun and ended here. A handler may set savepoints. Statements that would end the
 * transaction or outlive it (`SET` without `LOCAL`), `release`, and any use of `tx` after it has settled
 * are refused with a `TransactionMisuseError`. A handler that ends it all the same is sent its delivery
 * again. Where the connection breaks, `context.signal` aborts. The store's own statements are ended by the
 * server after the receiver's `dependencyTimeoutMs`; those of the handler are not limited.
 *
 * It heeds the claims and completions that `postgresStore` has left in the same table; where a lease of
 * those has ended without a verdict, `context.takeover` is true. Do not run both on one: a claim waits for
 * the end of a transaction on the same key.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function postgresTransactions<Pool extends PostgresTransactionPool>(
  options: PostgresTransactionsOptions<Pool>,
): PostgresTransactions<PostgresClientOf<Pool>> {
  const own = poolOptions("postgresTransactions", options, ["query", "connect"]);
  // Clients of this pool by `PostgresClientOf`, which TypeScript cannot follow for an open `Pool`.
  const pool = own.pool as unknown as ClientPool<PostgresClientOf<Pool>>;
  const table = quotedTable(own.table);
  const [beginning, forgetting] = [beginStatement(table), forgetStatement(table)];
  const limits = new StatementLimits();

  const open = (key: string, retentionMs: number) => {
    const deadline = limits.deadline();
    const values = [key, retentionMs];
    return settled(
      () => begin(() => openTransaction(pool, limits, deadline, beginning, values)),
      limits.mayTryAgain,
    );
  };

  const forget = (key: string, version: unknown) => {
    const deadline = limits.deadline();
    return settled(
      () => ask(pool, limits, deadline, forgetting, [key, version]),
      limits.mayTryAgain,
    );
  };

  const store: PostgresTransactions<PostgresClientOf<Pool>> & TakesTimeLimit = {
    ...concurrencyOf(pool),

    async process(key, work, { retentionMs }) {
      const begun = await open(key, retentionMs);
      if ("state" in begun) return begun;
      const { transaction, version, facts } = begun;
      try {
        await complete(transaction, (tx) => work(tx, facts));
      } catch (error) {
        // Then the key may be committed, without all that the handler was to do. Where the server cannot
        // be reached for it, the first error says why.
        if (transaction.mayBeEndedByHandler) await forget(key, version).catch(() => undefined);
        throw error;
      }
      return { state: "processed" };
    },

    [TIME_LIMIT_HOOK](dependencyTimeoutMs) {
      limits.tell(dependencyTimeoutMs);
    },

    ...createUpkeep(own.pool, own.table),
  };
  return store;
}

/**
 * Each delivery has a client of the pool while its handler runs. One client is left for what else uses the
 * pool, and is taken all the same where there is only one.
 */
function concurrencyOf({ options }: PostgresTransactionPool) {
  const max = options?.max;
  if (typeof max !== "number" || !(max >= 1)) return {};
  return { maxConcurrentDeliveries: Math.max(1, Math.floor(max) - 1) };
}

interface ClientPool<Client> extends PostgresTransactionPool {
  connect(): Promise<Client & PostgresClient>;
}

/** A transaction in which the key is remembered, in this version of its row. */
interface Begun<Client> {
  readonly transaction: Transaction<Client>;
  readonly version: unknown;
  readonly facts: WorkFacts;
}

type Refusal = Exclude<ClaimResult, { state: "claimed" }>;

/**
 * A transaction in which the key is remembered, or what stands in its way; undefined where a concurrent
 * change overtook it. Whatever fails here may be tried again, since the handler has not been called.
 */
async function begin<Client>(
  open: () => Promise<Transaction<Client>>,
): Promise<Begun<Client> | Refusal | undefined> {
  const transaction = await open();
  let standing: ClaimResult | undefined;
  try {
    standing = readClaimRow(transaction.rows);
  } catch (error) {
    await transaction.rollBack();
    throw error;
  }
  if (standing?.state === "claimed") {
    const { takeover } = standing;
    return { transaction, version: readVersion(transaction.rows), facts: { takeover } };
  }
  await transaction.rollBack();
  return standing;
}

async function complete<Client>(
  transaction: Transaction<Client>,
  work: (tx: Client) => Promise<void>,
): Promise<void> {
  try {
    await transaction.run(work);
  } catch (error) {
    await transaction.rollBack();
    throw error;
  }
  await transaction.commit();
}

/**
 * A row that is within its retention and is begun anyway is an ended lease: a takeover.
 *
 * To insert a row that another transaction has inserted and not committed is to wait for its end, so an
 * advisory lock is tried first; it ends with the transaction, as poolers in transaction mode need it. The
 * row alone makes it safe: without the lock a copy would wait, and not be processed twice.
 */
function beginStatement(table: string): string {
  return `WITH mine AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(
        hashtextextended($1::text COLLATE "C", '${table}'::regclass::oid::bigint)
      ) AS locked
    ), begun AS (
      INSERT INTO ${table} AS held (key, expires_at)
      SELECT $1, ${fromNow("$2")} FROM mine WHERE locked
      ON CONFLICT (key) DO UPDATE SET
        owner = NULL,
        lease_until = NULL,
        expires_at = excluded.expires_at,
        takeover = held.expires_at > clock_timestamp()
      WHERE held.expires_at <= clock_timestamp() OR held.lease_until <= clock_timestamp()
      RETURNING xmin::text AS version, takeover
    ), standing AS (
      SELECT owner, lease_until FROM ${table}
      WHERE key = $1 AND expires_at > clock_timestamp()
        AND (owner IS NULL OR lease_until > clock_timestamp())
        AND NOT EXISTS (SELECT FROM begun)
    )
    SELECT CASE WHEN takeover THEN 'takeover' ELSE 'claimed' END AS state,
      NULL AS retry_after_ms, version
    FROM begun
    UNION ALL
    SELECT CASE WHEN owner IS NULL THEN 'completed' ELSE 'in_flight' END, ${LEASE_LEFT_MS}, NULL
    FROM standing
    UNION ALL
    SELECT 'in_flight', NULL, NULL FROM mine WHERE NOT locked AND NOT EXISTS (SELECT FROM standing)`;
}

/** Of that version alone: meanwhile another process may have handled the delivery. */
function forgetStatement(table: string): string {
  return `DELETE FROM ${table} WHERE key = $1 AND xmin = $2::xid`;
}
