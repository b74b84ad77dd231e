export { postgresStore, type PostgresStore, type PostgresStoreOptions } from "./postgres-store.js";
export {
  postgresTransactions,
  type PostgresTransactions,
  type PostgresTransactionsOptions,
} from "./postgres-transactions.js";
export type { PostgresClient, PostgresPool, PostgresTransactionPool } from "./postgres-pool.js";
export type { PostgresMaintenance } from "./maintenance.js";
export { postgresSchema } from "./postgres-schema.js";
export type { PurgeOptions } from "../purge-options.js";
