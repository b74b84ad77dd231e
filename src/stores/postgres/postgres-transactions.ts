import type { PostgresStoreOptions } from "./postgres-store.js";
import type { TableMaintenance } from "../table-maintenance.js";
import { invalidOption } from "../../common/errors.js";
import { booleanOption } from "../../common/option-checks.js";
import { ErrorListenerCheck } from "../../common/error-listeners.js";
import { inFlight, type ClaimResult } from "../delivery-store.js";
import { retryConflicts } from "../conflict-retry.js";
import {
  concurrencyOfPool,
  type ProcessOptions,
  type ProcessResult,
  type TransactionalStore,
  type WorkFacts,
} from "../transactional-store.js";
import { isSerializationFailure } from "./errors.js";
import { readClaimRow, readVersion, RETRY_AFTER_MS } from "./lease-statements.js";
import { maintenanceOf } from "./maintenance.js";
import {
  poolOptions,
  quotedTable,
  type PostgresClient,
  type PostgresClientOf,
  type PostgresTransactionPool,
} from "./postgres-pool.js";
import { PreparedStatements } from "./prepared-statements.js";
import { query } from "./query.js";
import { StatementLimits } from "./statement-limits.js";
import { openTransaction, type Transaction } from "./transaction.js";
import { fromNow, lockOf, lookOf } from "./sql-text.js";

/**
 * Options of `postgresTransactions`, which are those of `postgresStore`. Each delivery that is being handled takes one
 * client of the pool.
 */
type PostgresTransactionsOptions<Pool extends PostgresTransactionPool> = Omit<
  PostgresStoreOptions,
  "pool"
> & {
  /** A `Pool` of pg 8, or anything with the same `connect` and `query`. Add a listener for its `error`. */
  readonly pool: Pool;
};

/** A `TransactionalStore` on a table of PostgreSQL. `Tx` is the type of the pool's clients. */
export interface PostgresTransactions<Tx> extends TransactionalStore<Tx>, TableMaintenance {}

/**
 * A store that remembers a delivery in the same transaction as the handler's own writes: the handler
 * writes on `context.tx`, and either both are committed or neither. Create the table first: `migrate()`,
 * or the SQL of `postgresSchema`. Needs PostgreSQL 12 or later. The transaction has the default isolation
 * level of the connection, and the retention counts from its start.
 *
 * The store begins and ends the transaction. A handler may use savepoints. `tx` refuses, with a
 * `transaction_misuse`, statements that would end the transaction or outlive it (`SET` without
 * `LOCAL`), `release`, and every use after the handler has settled. If a handler ends the transaction
 * anyway, the gateway sends its delivery again.
 *
 * `context.signal` aborts when the connection breaks. The server ends a statement of the store after the
 * receiver's `dependencyTimeoutMs`; it does not limit the statements of the handler.
 *
 * The store respects leases and completions that `postgresStore` left in the same table: if such a lease
 * ended without a result, `context.takeover` is true. Do not run both on one table at the same time: a
 * claim waits for the end of a transaction on the same key.
 *
 * @throws ConfigurationError (`unknown_option`, `invalid_option`, `invalid_options`) for options that
 * cannot work; (`unsupported_version`) for a pool of a version that cannot work.
 * @example
 * const store = postgresTransactions({ pool });
 * await store.migrate();
 * createWebhookReceiver({
 *   secret,
 *   store,
 *   handlers: {
 *     new_alarm: async (alarm, { tx }) => {
 *       await tx.query("INSERT INTO alarms (account_id) VALUES ($1)", [alarm.account_id]);
 *     },
 *   },
 * });
 */
export function postgresTransactions<Pool extends PostgresTransactionPool>(
  options: PostgresTransactionsOptions<Pool>,
): PostgresTransactions<PostgresClientOf<Pool>> {
  const own = poolOptions("postgresTransactions", options, ["query", "connect"], ["prepare"]);
  // A pool has none. A client has `connect` too, but hands out no clients.
  if ("connectionParameters" in own.pool) {
    throw invalidOption("pool is a Client of pg, which is one connection: pass a new pg.Pool(…)");
  }
  // TypeScript cannot resolve `PostgresClientOf` for a type parameter.
  const errorListener = new ErrorListenerCheck("the pool of pg", own.pool);
  const pool = own.pool as unknown as ClientPool<PostgresClientOf<Pool>>;
  const table = quotedTable(own.table);
  const [beginning, looking] = [beginStatement(table), lookStatement(table)];
  const forgetting = forgetStatement(table);
  const limits = new StatementLimits();
  const prepared = booleanOption("prepare", own.prepare, false)
    ? new PreparedStatements()
    : undefined;

  const open = (key: string, { retentionMs, recordKey }: ProcessOptions) => {
    const deadline = limits.deadline();
    const values = [key, retentionMs];
    const opening = { limits, deadline, prepared, statement: beginning, values };
    const attempt = async () => {
      const transaction = await openTransaction(pool, opening);
      const { rows } = transaction;
      const look = () => transaction.query(looking, values);
      const standing = await orRollBack(transaction, () => standingOf(rows, look));
      if (standing?.state !== "claimed") {
        await transaction.rollBack();
        return standing;
      }
      const begun = { transaction, versions: [[key, readVersion(rows)]] as const, facts: standing };
      return recordKey === undefined ? begun : withRecord(begun, [recordKey, retentionMs]);
    };
    return retryConflicts(attempt, limits.mayRetry);
  };

  /** The transaction with the row of the record too, or the reason why it cannot have it. */
  const withRecord = async (
    { transaction, versions, facts }: Begun<PostgresClientOf<Pool>>,
    values: [recordKey: string, retentionMs: number],
  ): Promise<Begun<PostgresClientOf<Pool>> | Refusal | undefined> => {
    const look = () => transaction.query(looking, values);
    const tried = await orRollBack(transaction, async () => {
      const rows = await transaction.query(beginning, values);
      return { rows, standing: await standingOf(rows, look) };
    }).catch((error: unknown) => {
      if (isSerializationFailure(error)) return undefined;
      throw error;
    });
    if (tried === undefined) return { ...inFlight(RETRY_AFTER_MS), sameRecord: true };
    const { rows, standing } = tried;
    if (standing?.state === "claimed") {
      const takeover = facts.takeover || standing.takeover;
      const version = [values[0], readVersion(rows)] as const;
      return { transaction, versions: [...versions, version], facts: { takeover } };
    }
    // From now on this key is known too.
    if (standing?.state === "completed") await transaction.commit();
    else await transaction.rollBack();
    return standing && { ...standing, sameRecord: true };
  };

  const forget = (key: string, version: unknown) => {
    const deadline = limits.deadline();
    return retryConflicts(
      () => query(pool, limits, { deadline }, forgetting, [key, version]),
      limits.mayRetry,
    );
  };

  return {
    ...concurrencyOfPool(pool.options?.max),

    remembersRecords: true,

    async process(key, work, options) {
      errorListener.check?.();
      const begun = await open(key, options);
      if ("state" in begun) return begun;
      const { transaction, versions, facts } = begun;
      try {
        await complete(transaction, (tx) => work(tx, facts));
      } catch (error) {
        // The key may be committed although the handler did not finish. If the server cannot be reached
        // to delete it, the first error says why.
        if (transaction.mayBeEndedByHandler) {
          await Promise.allSettled(versions.map(([written, version]) => forget(written, version)));
        }
        throw error;
      }
      return { state: "processed" };
    },

    connectReceiver(receiver) {
      errorListener.connect(receiver);
      limits.allow(receiver.dependencyTimeoutMs);
    },

    ...maintenanceOf(own.pool, own.table),
  };
}

interface ClientPool<Client> extends PostgresTransactionPool {
  connect(): Promise<Client & PostgresClient>;
}

/** A transaction that has written the rows of its keys, each with the version that it wrote. */
interface Begun<Client> {
  readonly transaction: Transaction<Client>;
  readonly versions: readonly (readonly [key: string, version: unknown])[];
  readonly facts: WorkFacts;
}

type Refusal = Exclude<ProcessResult, { state: "processed" }>;
/** What became of a key, after `rows` of the statement that writes its row. Undefined if a reason against it has just ended. */
async function standingOf(
  rows: readonly unknown[],
  look: () => Promise<readonly unknown[]>,
): Promise<ClaimResult | undefined> {
  return readClaimRow(rows) ?? readClaimRow(await look());
}

/** Runs statements of the store. After a failure the transaction has ended, and the handler has not run. */
async function orRollBack<T>(transaction: Transaction<unknown>, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    await transaction.rollBack();
    throw error;
  }
}

async function complete<Client>(
  transaction: Transaction<Client>,
  work: (tx: Client) => Promise<void>,
): Promise<void> {
  await orRollBack(transaction, () => transaction.run(work));
  await transaction.commit();
}

// The statements of `postgresTransactions` on `table`, which is a quoted name. Parameters: key, retention.

/**
 * Inserts the row or takes it over, or changes nothing and returns no row. A row that is within its
 * retention and can be taken is an ended lease, so taking it is a takeover.
 *
 * An INSERT waits for the end of another transaction that has inserted the same key. So an advisory lock
 * is tried first, and a redelivery is answered at once. The lock ends with the transaction, as poolers in
 * transaction mode require. It only saves time: without it a redelivery would wait, but because of the row
 * it would not be processed twice.
 */
function beginStatement(table: string): string {
  return `INSERT INTO ${table} AS held (key, expires_at)
      SELECT $1, ${fromNow("$2")} WHERE ${lockOf(table, "$1")}
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
function lookStatement(table: string): string {
  return `SELECT ${lookOf(table, "key = $1")}
    UNION ALL
    SELECT 'in_flight', NULL WHERE NOT ${lockOf(table, "$1")}`;
}

/** Deletes only that version of the row: another process may have handled the delivery since. */
function forgetStatement(table: string): string {
  return `DELETE FROM ${table} WHERE key = $1 AND xmin = $2::xid`;
}
