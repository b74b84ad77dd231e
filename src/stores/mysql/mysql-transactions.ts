import {
  type MysqlStoreOptions,
  connectionLimitOf,
  promisePool,
  type MysqlConnection,
  type MysqlConnectionOf,
  type MysqlPool,
  poolOptions,
  quotedTable,
} from "./mysql-pool.js";
import type { TableMaintenance } from "../table-maintenance.js";
import { CallLimits } from "../call-limits.js";
import { retryConflicts } from "../conflict-retry.js";
import {
  concurrencyOfPool,
  type ProcessResult,
  type TransactionalStore,
  type WorkFacts,
} from "../transactional-store.js";
import { durabilityCheck } from "./durability-check.js";
import { isConflict } from "./errors.js";
import { maintenanceOf } from "./maintenance.js";
import { Transaction } from "./transaction.js";
import { isRefusal, RECORD_IN_FLIGHT, TransactionRow } from "./transaction-row.js";

/** A `TransactionalStore` on a table of MySQL or MariaDB. `Tx` is the type of the pool's connections. */
export interface MysqlTransactions<Tx> extends TransactionalStore<Tx>, TableMaintenance {}

/**
 * A store that remembers a delivery in the same transaction as the handler's own writes: the handler
 * writes on `context.tx`, and either both are committed or neither. Create the table first: `migrate()`,
 * or the SQL of `mysqlSchema`. Needs MySQL 8.0.16 or MariaDB 10.6, or later, with
 * `innodb_flush_log_at_trx_commit = 1`, their default. The transaction has the default isolation level of
 * the connection.
 *
 * The store begins and ends the transaction. A handler may use savepoints. `tx` refuses, with a
 * `transaction_misuse`, statements that would end the transaction (COMMIT, ROLLBACK, and everything
 * that MySQL commits implicitly, such as CREATE TABLE) or outlive it (`SET`, `USE`), `release` and the
 * like, and every use after the handler has settled. If a handler ends the transaction anyway, the gateway
 * sends its delivery again, and the next run has `context.takeover`.
 *
 * `context.signal` aborts when the connection breaks. The server ends a statement of the store after the
 * receiver's `dependencyTimeoutMs`; it does not limit the statements of the handler.
 *
 * The store respects leases and completions that `mysqlStore` left in the same table: if such a lease
 * ended without a result, `context.takeover` is true. Do not run both on one table at the same time: a
 * claim waits for the end of a transaction on the same key.
 *
 * @throws ConfigurationError (`unknown_option`, `invalid_option`, `invalid_options`) for options that
 * cannot work.
 * @example
 * const store = mysqlTransactions({ pool });
 * await store.migrate();
 * createWebhookReceiver({
 *   secret,
 *   store,
 *   handlers: {
 *     new_alarm: async (alarm, { tx }) => {
 *       await tx.execute("INSERT INTO alarms (account_id) VALUES (?)", [alarm.account_id]);
 *     },
 *   },
 * });
 */
export function mysqlTransactions<Pool extends MysqlPool>(
  options: MysqlStoreOptions<Pool>,
): MysqlTransactions<MysqlConnectionOf<Pool>> {
  const own = poolOptions("mysqlTransactions", options);
  // TypeScript cannot resolve `MysqlConnectionOf` for a type parameter.
  const pool = promisePool(own.pool) as unknown as ConnectionPool<MysqlConnectionOf<Pool>>;
  const table = quotedTable(own.table);
  const limits = new CallLimits();
  const durability = durabilityCheck(pool);

  const begin = (row: TransactionRow, more: readonly TransactionRow[]) => {
    const deadline = limits.deadline();
    return retryConflicts(
      () => attempt(() => Transaction.open(pool, limits, deadline), row, more),
      (error) => isConflict(error) && deadline.remainingMs() > 1,
    );
  };

  return {
    ...concurrencyOfPool(connectionLimitOf(own.pool)),

    remembersRecords: true,

    async process(key, work, { retentionMs, recordKey }) {
      const row = new TransactionRow(table, key, retentionMs);
      const more =
        recordKey === undefined ? [] : [new TransactionRow(table, recordKey, retentionMs)];
      const begun = await begin(row, more);
      durability.check();
      if ("state" in begun) return begun;
      const { transaction, facts } = begun;
      try {
        await transaction.run((tx) => work(tx, facts));
      } catch (error) {
        await transaction.rollBack();
        throw error;
      }
      await transaction.commit(row.completion(more));
      return { state: "processed" };
    },

    connectReceiver(receiver) {
      limits.allow(receiver.dependencyTimeoutMs);
      durability.connect(receiver);
    },

    ...maintenanceOf(own.pool, own.table),
  };
}

interface ConnectionPool<Client> {
  getConnection(): Promise<Client & MysqlConnection>;
}

type Refusal = Exclude<ProcessResult, { state: "processed" }>;

/** A transaction that has written its rows. */
interface Begun<Client extends MysqlConnection> {
  readonly transaction: Transaction<Client>;
  readonly facts: WorkFacts;
}

/**
 * A transaction that has written the row of the key, and then that of the record if there is one, or the reason why it
 * cannot; undefined if another change overtook it. Every failure here may be retried: the handler has not run.
 */
async function attempt<Client extends MysqlConnection>(
  open: () => Promise<Transaction<Client>>,
  row: TransactionRow,
  [record]: readonly TransactionRow[],
): Promise<Begun<Client> | Refusal | undefined> {
  const transaction = await open();
  let result: WorkFacts | Refusal | undefined;
  try {
    result = await write(transaction, row, record);
    const isWritten = result !== undefined && ("takeover" in result || "sameRecord" in result);
    if (isWritten) await transaction.setSavepoint();
  } catch (error) {
    await transaction.abandon(error);
    throw error;
  }
  if (result !== undefined && "takeover" in result) return { transaction, facts: result };
  // The record was handled under another key: from now on this key is known too.
  if (result?.state === "completed" && result.sameRecord)
    await transaction.commit(row.completion([]));
  else await transaction.rollBack();
  return result;
}

async function write<Client extends MysqlConnection>(
  transaction: Transaction<Client>,
  row: TransactionRow,
  record: TransactionRow | undefined,
): Promise<WorkFacts | Refusal | undefined> {
  const found = await row.find(transaction);
  if (isRefusal(found)) return found;
  const ofRecord = await record?.find(transaction);
  if (isRefusal(ofRecord) && ofRecord.state === "in_flight")
    return { ...ofRecord, sameRecord: true };
  await transaction.begin();
  const facts = await row.write(transaction, found);
  if (facts === undefined || record === undefined || ofRecord === undefined) return facts;
  if (isRefusal(ofRecord)) return { ...ofRecord, sameRecord: true };
  try {
    const recordFacts = await record.write(transaction, ofRecord);
    return recordFacts && { takeover: facts.takeover || recordFacts.takeover };
  } catch (error) {
    if (isConflict(error)) return RECORD_IN_FLIGHT;
    throw error;
  }
}
