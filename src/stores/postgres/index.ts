export { postgresStore, type PostgresStore, type PostgresStoreOptions } from "./postgres-store.js";
export { postgresTransactions, type PostgresTransactions } from "./postgres-transactions.js";
export type { PostgresClient, PostgresPool } from "./postgres-pool.js";
export { postgresSchema } from "./postgres-schema.js";
