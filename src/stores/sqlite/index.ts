export {
  HandleClosedError,
  HandleInTransactionError,
  TransactionEndedError,
  WaitTimeoutError,
} from "./errors.js";
export type { SqliteDatabase } from "./sqlite-database.js";
export type { SqliteOptions } from "./sqlite-options.js";
export { sqliteStore } from "./sqlite-store.js";
export { sqliteTransactions } from "./sqlite-transactions.js";
export { TransactionMisuseError } from "../transactional-store.js";
