export type { SqliteDatabase } from "./sqlite-options.js";
export type { SqliteOptions } from "./sqlite-options.js";
export { sqliteStore } from "./sqlite-store.js";
export { sqliteTransactions } from "./sqlite-transactions.js";
