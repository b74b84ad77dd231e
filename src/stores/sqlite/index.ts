export { HandleClosedError, HandleInTransactionError } from "./handle-errors.js";
export type { SqliteDatabase, SqliteStatement, SqliteValue } from "./sqlite-database.js";
export type { SqliteOptions } from "./sqlite-options.js";
export { sqliteStore } from "./sqlite-store.js";
export { TransactionEndedError, sqliteTransactions } from "./sqlite-transactions.js";
export { WaitTimeoutError } from "./write-queue.js";
export { TransactionMisuseError } from "../transactional-store.js";
