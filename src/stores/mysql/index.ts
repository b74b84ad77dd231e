export { mysqlStore, type MysqlStore, type MysqlStoreOptions } from "./mysql-store.js";
export {
  mysqlTransactions,
  type MysqlTransactions,
  type MysqlTransactionsOptions,
} from "./mysql-transactions.js";
export type {
  MysqlCallbackPool,
  MysqlConnection,
  MysqlPool,
  MysqlPromisePool,
  MysqlQuery,
} from "./mysql-pool.js";
export type { MysqlMaintenance } from "./maintenance.js";
export type { PurgeOptions } from "../purge-options.js";
export { mysqlSchema } from "./mysql-schema.js";
