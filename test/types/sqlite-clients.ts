// Compiled, never run: the SQLite stores accept a real handle of each driver, and nothing else.
import type { DatabaseSync } from "node:sqlite";
import type BetterSqlite3 from "better-sqlite3";
import type Libsql from "libsql";
import type { Client } from "pg";
import type { DeliveryStore } from "../../src/stores/delivery-store.js";
import {
  sqliteStore,
  sqliteTransactions,
  type SqliteDatabase,
} from "../../src/stores/sqlite/index.js";
import type { TransactionalStore } from "../../src/stores/transactional-store.js";
import { type Equal, proves } from "./proofs.js";

declare const better: BetterSqlite3.Database;
declare const node: DatabaseSync;
declare const libsql: Libsql.Database;
declare const client: Client;

const stores = [better, node, libsql].map((database) => sqliteStore({ database }));
proves<Equal<typeof stores, DeliveryStore[]>>();
sqliteStore({ database: better, table: "deliveries", waitTimeoutMs: 1_000 });

// The handler's tx has the type of the handle, with everything that its driver adds.
const onBetter = sqliteTransactions({ database: better });
const onNode = sqliteTransactions({ database: node, table: undefined });
proves<Equal<typeof onBetter, TransactionalStore<BetterSqlite3.Database>>>();
proves<Equal<typeof onNode, TransactionalStore<DatabaseSync>>>();
proves<
  Equal<ReturnType<typeof sqliteTransactions<Libsql.Database>>, TransactionalStore<Libsql.Database>>
>();
void sqliteTransactions({ database: libsql });
void onBetter.process(
  "id",
  async (tx) => {
    proves<Equal<typeof tx, BetterSqlite3.Database>>();
    tx.prepare<[string]>("INSERT INTO t VALUES (?)").run("a");
    tx.transaction(() => undefined)();
    await Promise.resolve();
  },
  { retentionMs: 1 },
);
void onNode.process(
  "id",
  async (tx) => {
    proves<Equal<typeof tx.isTransaction, boolean>>();
    // @ts-expect-error: only better-sqlite3 has `transaction`
    tx.transaction(() => undefined);
    await Promise.resolve();
  },
  { retentionMs: 1 },
);

// @ts-expect-error: without a database
sqliteStore({});
// @ts-expect-error: the name of a file is not a handle
sqliteStore({ database: "deliveries.db" });
// @ts-expect-error: a client of another database
sqliteStore({ database: client });
// @ts-expect-error: a client of another database
sqliteTransactions({ database: client });
// @ts-expect-error: a misspelt option
sqliteStore({ database: better, tableName: "deliveries" });
// @ts-expect-error: milliseconds are a number
sqliteTransactions({ database: node, waitTimeoutMs: "1 s" });
const remote: SqliteDatabase = {
  exec: () => undefined,
  // @ts-expect-error: a driver that returns promises
  prepare: () => ({ get: () => undefined, run: () => Promise.resolve({ changes: 1 }) }),
};
