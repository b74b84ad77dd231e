// Compiled, never run: which pools the MySQL stores accept, and which connection a handler gets.
import { createWebhookReceiver, type DeliveryStore } from "identity-gateway-webhooks";
import {
  mysqlSchema,
  mysqlStore,
  mysqlTransactions,
  type MysqlConnection,
  type MysqlTransactions,
} from "identity-gateway-webhooks/mysql";
import { drizzle } from "drizzle-orm/mysql2";
import callbacks from "mysql2";
import mysql from "mysql2/promise";
import type { PoolConnection } from "mysql2/promise";
import { type Equal, proves } from "./proofs.js";

const pool = mysql.createPool("mysql://localhost/app");
const callbackPool = callbacks.createPool("mysql://localhost/app");
declare const connection: mysql.Connection;

// Both stores accept both pools of mysql2, and the pools of a cluster.
const store: DeliveryStore = mysqlStore({ pool, table: "webhooks.deliveries" });
mysqlStore({ pool: callbackPool, table: undefined });
mysqlStore({ pool: mysql.createPoolCluster().of("WRITER") });
const transactions = mysqlTransactions({ pool });
proves<Equal<typeof transactions, MysqlTransactions<PoolConnection>>>();
const ofCallbacks = mysqlTransactions({ pool: callbackPool });
proves<Equal<typeof ofCallbacks, MysqlTransactions<PoolConnection>>>();
const ddl: string = mysqlSchema("webhooks.deliveries");
const purged: Promise<number> = transactions.purge({ batchRows: 1_000 });
void transactions.migrate();

// A handler gets a connection of the pool's own type.
createWebhookReceiver({
  secret: "s",
  store: mysqlTransactions({ pool }),
  handlers: {
    new_alarm: async (alarm, { tx }) => {
      proves<Equal<typeof tx, PoolConnection>>();
      await tx.execute("INSERT INTO alarms (account_id) VALUES (?)", [alarm.account_id]);
      drizzle(tx);
    },
  },
});
createWebhookReceiver({
  secret: "s",
  store: mysqlStore({ pool }),
  handlers: {
    // @ts-expect-error: without a transactional store there is no transaction
    new_alarm: (_alarm, { tx }) => proves<Equal<typeof tx, undefined>>(),
  },
});

// The same for a pool of another library.
interface OtherConnection extends MysqlConnection {
  readonly region: string;
}
declare const otherPool: { getConnection(): Promise<OtherConnection> };
const otherTransactions = mysqlTransactions({ pool: otherPool });
proves<Equal<typeof otherTransactions, MysqlTransactions<OtherConnection>>>();

// @ts-expect-error: a connection has no connections to hand out
mysqlTransactions({ pool: connection });
// @ts-expect-error: without a pool
mysqlStore({});
// @ts-expect-error: a connection string is not a pool
mysqlStore({ pool: "mysql://localhost" });
// @ts-expect-error: a misspelt option
mysqlStore({ pool, tabel: "deliveries" });
// @ts-expect-error: the name of a table is a string
mysqlTransactions({ pool, table: ["webhooks", "deliveries"] });
// @ts-expect-error: the retention belongs to the completion
void transactions.process("k", () => Promise.resolve());

export { ddl, purged, store };
