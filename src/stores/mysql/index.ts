export { mysqlStore, type MysqlStore } from "./mysql-store.js";
export { mysqlTransactions, type MysqlTransactions } from "./mysql-transactions.js";
export type { MysqlConnection, MysqlPool, MysqlStoreOptions } from "./mysql-pool.js";
export { mysqlSchema } from "./mysql-schema.js";
