export { postgresStore, type PostgresStore, type PostgresStoreOptions } from "./postgres-store.js";
export {
  postgresTransactions,
  type PostgresTransactions,
  type PostgresTransactionsOptions,
} from "./postgres-transactions.js";
export type {
  PostgresClient,
  PostgresClientOf,
  PostgresPool,
  PostgresResult,
  PostgresTransactionPool,
} from "./postgres-pool.js";
export type { PostgresUpkeep, PurgeOptions } from "./upkeep.js";
export { postgresSchema } from "./postgres-schema.js";
export { LostAnswerError, UnfinishedTransactionError } from "./ask.js";
export { TransactionAbortedError } from "./transaction.js";
export { TransactionMisuseError } from "../transactional-store.js";
