// Compiled, never run: which pools and handles the SQL stores accept, and which client a handler gets.
import type { DatabaseSync } from "node:sqlite";
import type BetterSqlite3 from "better-sqlite3";
import type Libsql from "libsql";
import callbacks from "mysql2";
import mysql from "mysql2/promise";
import pg from "pg";
import type { DeliveryStore } from "identity-gateway-webhooks";
import {
  mysqlSchema,
  mysqlStore,
  mysqlTransactions,
  type MysqlConnection,
  type MysqlTransactions,
} from "identity-gateway-webhooks/mysql";
import {
  postgresSchema,
  postgresStore,
  postgresTransactions,
  type PostgresClient,
  type PostgresPool,
  type PostgresTransactions,
} from "identity-gateway-webhooks/postgres";
import {
  sqliteStore,
  sqliteTransactions,
  type SqliteDatabase,
} from "../../src/stores/sqlite/index.js";
import type { TransactionalStore } from "../../src/stores/transactional-store.js";
import { type Equal, proves } from "./proofs.js";

const pool = new pg.Pool();
declare const client: pg.Client;
const mysqlPool = mysql.createPool("mysql://localhost/app");
const callbackPool = callbacks.createPool("mysql://localhost/app");
declare const connection: mysql.Connection;
declare const better: BetterSqlite3.Database;
declare const node: DatabaseSync;
declare const libsql: Libsql.Database;

// The stores of PostgreSQL accept a real pool. The store without transactions also accepts a single client.
postgresStore({ pool: client, table: undefined });
const transactions = postgresTransactions({ pool });
proves<Equal<typeof transactions, PostgresTransactions<pg.PoolClient>>>();
// @ts-expect-error: the option was renamed to batchRows
void transactions.purge({ batch: 1_000 });

// Those of MySQL accept both pools of mysql2, and the pools of a cluster.
mysqlStore({ pool: callbackPool, table: undefined });
mysqlStore({ pool: mysql.createPoolCluster().of("WRITER") });
const onMysql = mysqlTransactions({ pool: mysqlPool });
proves<Equal<typeof onMysql, MysqlTransactions<mysql.PoolConnection>>>();
const ofCallbacks = mysqlTransactions({ pool: callbackPool });
proves<Equal<typeof ofCallbacks, MysqlTransactions<mysql.PoolConnection>>>();

// Those of SQLite accept a real handle of each driver.
const stores = [better, node, libsql].map((database) => sqliteStore({ database }));
proves<Equal<typeof stores, DeliveryStore[]>>();
void sqliteTransactions({ database: libsql });

export const purged: Promise<number>[] = [
  transactions.purge({ batchRows: 1_000 }),
  onMysql.purge({ batchRows: 1_000 }),
];

// Of SQLite a handler gets the handle, with everything that its driver adds.
const onBetter = sqliteTransactions({ database: better });
const onNode = sqliteTransactions({ database: node, table: undefined });
proves<Equal<typeof onBetter, TransactionalStore<BetterSqlite3.Database>>>();
proves<Equal<typeof onNode, TransactionalStore<DatabaseSync>>>();
proves<
  Equal<ReturnType<typeof sqliteTransactions<Libsql.Database>>, TransactionalStore<Libsql.Database>>
>();
const retentionMs = 1_000;
void onBetter.process(
  "id",
  async (tx) => {
    tx.prepare<[string]>("INSERT INTO t VALUES (?)").run("a");
    tx.transaction(() => undefined)();
    await Promise.resolve();
  },
  { retentionMs },
);
void onNode.process(
  "id",
  async (tx) => {
    proves<Equal<typeof tx.isTransaction, boolean>>();
    // @ts-expect-error: only better-sqlite3 has `transaction`
    tx.transaction(() => undefined);
    await Promise.resolve();
  },
  { retentionMs },
);

// The same for a pool of another library: only promises, and a client with more members.
interface OtherClient extends PostgresClient {
  readonly region: string;
}
interface OtherPool extends PostgresPool {
  connect(): Promise<OtherClient>;
}
declare const otherPool: OtherPool;
const otherTransactions = postgresTransactions({ pool: otherPool });
proves<Equal<typeof otherTransactions, PostgresTransactions<OtherClient>>>();
void otherTransactions.process("k", (tx) => tx.query(tx.region).then(() => undefined), {
  retentionMs,
});
interface OtherConnection extends MysqlConnection {
  readonly region: string;
}
declare const otherConnections: { getConnection(): Promise<OtherConnection> };
const otherOnMysql = mysqlTransactions({ pool: otherConnections });
proves<Equal<typeof otherOnMysql, MysqlTransactions<OtherConnection>>>();

// @ts-expect-error: a client has no clients to hand out
postgresTransactions({ pool: client });
// @ts-expect-error: without a pool
postgresStore({});
// @ts-expect-error: a connection string is not a pool
postgresStore({ pool: "postgres://localhost" });
// @ts-expect-error: a pool of another driver
postgresStore({ pool: { query: () => Promise.resolve([[], []]) } });
// @ts-expect-error: a misspelt option
postgresStore({ pool, tabel: "deliveries" });
// @ts-expect-error: the name of a table is a string
postgresTransactions({ pool, table: ["webhooks", "deliveries"] });
// @ts-expect-error: the retention belongs to the completion
void transactions.process("k", () => Promise.resolve());

// @ts-expect-error: a connection has no connections to hand out
mysqlTransactions({ pool: connection });
// @ts-expect-error: without a pool
mysqlStore({});
// @ts-expect-error: a connection string is not a pool
mysqlStore({ pool: "mysql://localhost" });
// @ts-expect-error: without a database
sqliteStore({});
// @ts-expect-error: the name of a file is not a handle
sqliteStore({ database: "deliveries.db" });
// @ts-expect-error: a client of another database
sqliteStore({ database: client });
// @ts-expect-error: a misspelt option
sqliteStore({ database: better, tableName: "deliveries" });
// @ts-expect-error: milliseconds are a number
sqliteTransactions({ database: node, waitTimeoutMs: "1 s" });
const remote: SqliteDatabase = {
  exec: () => undefined,
  // @ts-expect-error: a driver that returns promises
  prepare: () => ({ get: () => undefined, run: () => Promise.resolve({ changes: 1 }) }),
};
