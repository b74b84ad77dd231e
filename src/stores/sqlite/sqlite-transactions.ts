import type { ProcessResult, TransactionalStore } from "../transactional-store.js";
import type { KnownDelivery } from "./deliveries-table.js";
import { namedHandleError } from "./handle-errors.js";
import { lend } from "./lent-handle.js";
import { openDeliveries } from "./open-deliveries.js";
import type { SqliteDatabase } from "./sqlite-database.js";
import { checkSqliteOptions, type SqliteOptions } from "./sqlite-options.js";
import type { HeldTransaction } from "./write-queue.js";

const PROCESSED: ProcessResult = Object.freeze({ state: "processed" });
const COMPLETED: ProcessResult = Object.freeze({ state: "completed" });
/** How long a transaction takes is not known beforehand. */
const IN_FLIGHT: ProcessResult = Object.freeze({ state: "in_flight", retryAfterMs: 1_000 });

/** No one knows which of the handler's writes are in the file. */
export class TransactionEndedError extends Error {
  override readonly name = "TransactionEndedError";
  /** Stable, so that code can branch on it. */
  readonly code = "transaction_ended";

  constructor(cause: unknown) {
    super(
      "the handler ended the transaction that was to remember its delivery too: leave COMMIT and " +
        "ROLLBACK to the store, and throw to roll back",
      { cause },
    );
  }
}

/**
 * Deliveries and the handler's own writes in one SQLite file: each is remembered in the transaction
 * in which its handler writes, so both are there or neither.
 *
 * The handler's `tx` is `database` until the handler has settled. Then its open iterators are ended, and
 * it, its statements and query builders on it throw a `TransactionMisuseError`, so that nothing late is
 * written outside of the transaction or in that of the next delivery. Statements that are prepared on
 * `database` itself, and query builders on that, write in the transaction too, and can be kept for all
 * deliveries; nothing refuses them when late, and their iterators are the handler's to end.
 *
 * A connection has one transaction: deliveries are handled one after the other, and whatever else is
 * written through the handle while a handler waits is committed or rolled back with it. So give it a
 * handle of its own, and let handlers be short: they hold the write lock of the file. A copy of a
 * delivery that this process handles is `in_flight` at once. Others wait for the lock in the queue of the
 * handle, without stopping the process, and reject after `waitTimeoutMs`: with SQLITE_BUSY while another
 * process has the lock, with a `WaitTimeoutError` while other deliveries of this one have it.
 *
 * Shares its table with `sqliteStore`, and heeds what that has completed and leased: where a lease has
 * ended without a verdict, `context.takeover` is true. Its clock and the end of the retention are the
 * same.
 *
 * @throws ConfigurationError for an option that cannot work, and for a database in memory.
 */
export function sqliteTransactions<Database extends SqliteDatabase>(
  options: SqliteOptions<Database>,
): TransactionalStore<Database> {
  const { table: name, waitTimeoutMs } = checkSqliteOptions("sqliteTransactions", options);
  const { database } = options;
  const { table, writes } = openDeliveries(database, name);
  const running = new Set<string>();

  const resultOf = (known: KnownDelivery | undefined): ProcessResult | undefined => {
    if (known?.state === "completed") return COMPLETED;
    if (known === undefined || known.remainingMs <= 0) return undefined;
    return { state: "in_flight", retryAfterMs: known.remainingMs };
  };

  const runWork = async (work: (tx: Database) => Promise<void>): Promise<void> => {
    // It goes with the transaction, so it is missed where the handler has ended that, even if another
    // one is open by now.
    database.exec("SAVEPOINT webhook_handler");
    const { tx, close } = lend(database);
    try {
      await work(tx);
    } finally {
      close();
    }
    try {
      database.exec("RELEASE webhook_handler");
    } catch (error) {
      throw String(error).includes("no such savepoint") ? new TransactionEndedError(error) : error;
    }
  };

  const processIn = async (
    transaction: HeldTransaction,
    ...[key, work, times]: Parameters<TransactionalStore<Database>["process"]>
  ): Promise<ProcessResult> => {
    try {
      const known = table.find(key);
      const result = resultOf(known);
      if (result !== undefined) {
        transaction.rollback();
        return result;
      }
      // What is known of a delivery that is not handled, nor being handled, is a lease that has ended.
      await runWork((tx) => work(tx, { takeover: known !== undefined }));
      // Not before: between these two nothing else runs, so nobody can read a key in this connection
      // that is not committed.
      table.complete(key, times.retentionMs);
      transaction.commit();
      return PROCESSED;
    } catch (error) {
      transaction.rollback();
      throw error;
    }
  };

  const find = (key: string): KnownDelivery | undefined => {
    try {
      return table.find(key);
    } catch (error) {
      throw namedHandleError(error);
    }
  };

  return {
    async process(key, work, times) {
      const known = running.has(key) ? IN_FLIGHT : resultOf(find(key));
      if (known !== undefined) return known;
      running.add(key);
      try {
        const transaction = await writes.hold("new", waitTimeoutMs);
        return await processIn(transaction, key, work, times);
      } finally {
        running.delete(key);
      }
    },
  };
}
