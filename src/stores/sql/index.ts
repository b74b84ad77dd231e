export { sqlSchema, type SqlDialect } from "./dialects.js";
export { sqlTransactions, type SqlTransactionsOptions } from "./sql-transactions.js";
