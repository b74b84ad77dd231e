import { GatewayWebhookError } from "../../common/errors.js";
import type { ProcessResult, TransactionalStore } from "../transactional-store.js";
import type { KnownDelivery } from "./deliveries-table.js";
import { namedHandleError } from "./errors.js";
import { guardHandle } from "./guarded-handle.js";
import { openDeliveries } from "./open-deliveries.js";
import { type SqliteDatabase, checkSqliteOptions, type SqliteOptions } from "./sqlite-options.js";
import type { HeldTransaction } from "./write-transactions.js";
import { COMPLETED, inFlight } from "../delivery-store.js";

const PROCESSED: ProcessResult = Object.freeze({ state: "processed" });
/** How long a transaction takes is not known beforehand. */
const IN_FLIGHT: ProcessResult = Object.freeze(inFlight(1_000));
const RECORD_IN_FLIGHT: ProcessResult = Object.freeze({ ...inFlight(1_000), sameRecord: true });

/**
 * A store that remembers a delivery in the same transaction as the handler's own writes to a SQLite file:
 * either both are in the file or neither. It creates its table if that is missing.
 *
 * The handler's `tx` is `database` until the handler has settled. After that, `tx`, its statements and
 * query builders on it throw an error with the code `transaction_misuse`, and iterators that are still open are ended. So a
 * late write reaches neither the file nor the transaction of the next delivery.
 *
 * Statements that are prepared on `database` itself, and query builders on it, write in the transaction
 * too, and may be kept for all deliveries. The store does not refuse them when they are late, and the
 * handler must end their iterators.
 *
 * A connection has one transaction, so deliveries are handled one after the other. While a handler waits,
 * everything else that is written through the handle is committed or rolled back with its delivery: give
 * the store a handle of its own. A transaction holds the write lock of the file: keep handlers short.
 *
 * The store names 1 as its `maxConcurrentDeliveries`, so deliveries wait in the receiver. A delivery whose
 * turn has come waits for other users of the file in the queue of the handle, without blocking the process.
 * After `waitTimeoutMs` it rejects: with SQLITE_BUSY if another process holds the lock, and with an error with
 * the code `wait_timeout` if another writer of this handle does. A key that this handle is processing is
 * `in_flight` at once.
 *
 * `tx.transaction()` of better-sqlite3 is a savepoint. That of libsql sends BEGIN and so throws: use
 * `tx.exec("SAVEPOINT …")` there.
 *
 * The store can share its table with `sqliteStore`, and respects its leases and completions. If such a
 * lease ended without a result, `context.takeover` is true. Clock and retention work as in `sqliteStore`.
 *
 * @throws ConfigurationError (`unknown_option`, `invalid_option`, `invalid_options`) for options that
 * cannot work, for a database in memory, and for a table of that name that the store cannot use;
 * (`unsupported_version`) for a driver that lacks a method or returns promises.
 * @example
 * const store = sqliteTransactions({ database: new Database("app.db") });
 * createWebhookReceiver({
 *   secret,
 *   store,
 *   handlers: {
 *     new_alarm: (alarm, { tx }) => {
 *       tx.prepare("INSERT INTO alarms (account_id) VALUES (?)").run(alarm.account_id);
 *     },
 *   },
 * });
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
    return inFlight(known.remainingMs);
  };

  const runWork = async (work: (tx: Database) => Promise<void>): Promise<void> => {
    // A savepoint ends with its transaction. So RELEASE fails if the handler has ended the transaction, even
    // if it has begun another one.
    database.exec("SAVEPOINT webhook_handler");
    const { tx, close } = guardHandle(database);
    try {
      await work(tx);
    } finally {
      close();
    }
    try {
      database.exec("RELEASE webhook_handler");
    } catch (error) {
      if (!String(error).includes("no such savepoint")) throw error;
      throw new GatewayWebhookError(
        "transaction_ended",
        "the handler ended the transaction of its delivery: leave COMMIT and ROLLBACK to the store, and " +
          "throw to roll back",
        { cause: error },
      );
    }
  };

  const processIn = async (
    transaction: HeldTransaction,
    ...[key, work, options]: Parameters<TransactionalStore<Database>["process"]>
  ): Promise<ProcessResult> => {
    try {
      const { retentionMs, recordKey } = options;
      const known = table.find(key);
      const knownRecord = recordKey === undefined ? undefined : table.find(recordKey);
      const result = resultOf(known);
      const ofRecord = result === undefined ? resultOf(knownRecord) : undefined;
      if (ofRecord?.state === "completed") {
        // From now on this key is known too.
        table.complete(key, retentionMs);
        transaction.commit();
        return { ...ofRecord, sameRecord: true };
      }
      if (result !== undefined || ofRecord !== undefined) {
        transaction.rollback();
        return result ?? RECORD_IN_FLIGHT;
      }
      // A known delivery that is neither completed nor in flight is a lease that has ended.
      const takeover = known !== undefined || knownRecord !== undefined;
      await runWork((tx) => work(tx, { takeover }));
      // Not before the work: nothing else runs between these lines, so no call on this connection can
      // read a key that is not committed.
      table.complete(key, retentionMs);
      if (recordKey !== undefined) table.complete(recordKey, retentionMs);
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
    // Deliveries wait in the receiver, which knows for how long they may.
    maxConcurrentDeliveries: 1,
    remembersRecords: true,
    async process(key, work, options) {
      const { recordKey } = options;
      const known = running.has(key) ? IN_FLIGHT : resultOf(find(key));
      if (known !== undefined) return known;
      if (recordKey !== undefined && running.has(recordKey)) return RECORD_IN_FLIGHT;
      const keys = recordKey === undefined ? [key] : [key, recordKey];
      for (const one of keys) running.add(one);
      try {
        const transaction = await writes.hold("new", waitTimeoutMs);
        return await processIn(transaction, key, work, options);
      } finally {
        for (const one of keys) running.delete(one);
      }
    },
  };
}
