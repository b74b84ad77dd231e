export { mysqlStore, type MysqlStore, type MysqlStoreOptions } from "./mysql-store.js";
export { mysqlTransactions, type MysqlTransactions } from "./mysql-transactions.js";
export type { MysqlConnection, MysqlPool } from "./mysql-pool.js";
export { mysqlSchema } from "./mysql-schema.js";
