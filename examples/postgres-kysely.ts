// GATEWAY_WEBHOOK_SECRET=… DATABASE_URL=postgres://… npx tsx examples/postgres-kysely.ts
// Like postgres.ts, but the handler writes in the transaction of Kysely.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { sqlSchema, sqlTransactions } from "identity-gateway-webhooks/sql";
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from "kysely";
import pg from "pg";

interface Database {
  alarms: { delivery_id: string; account_id: number; event_type: string; text: string };
}

const CONNECTIONS = 10;
const pool = new pg.Pool({
  connectionString: process.env["DATABASE_URL"],
  connectionTimeoutMillis: 5_000,
  max: CONNECTIONS,
});
pool.on("error", ({ message }) => {
  console.error(`idle connection lost: ${message}`);
});
// Without it, a connection that breaks in a transaction ends the process.
pool.on("connect", (client) => client.on("error", console.error));
const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });

const store = sqlTransactions<Transaction<Database>>({
  dialect: "postgres",
  transaction: (run) => db.transaction().execute(run),
  query: (tx, sql) => tx.executeQuery(CompiledQuery.raw(sql)),
  connections: CONNECTIONS,
});
await pool.query(sqlSchema("postgres"));
await pool.query(
  `CREATE TABLE IF NOT EXISTS alarms (
    delivery_id text NOT NULL, account_id bigint NOT NULL, event_type text, text text
  )`,
);

const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  store,
  handlers: {
    new_alarm: async ({ account_id, event_type, severity, text }, { id, tx }) => {
      await tx
        .insertInto("alarms")
        .values({ delivery_id: id, account_id, event_type, text })
        .execute();
      console.log(`${id}: ${event_type}, severity ${severity}`);
    },
  },
});

const server = createServer(nodeHandler(receiver));
server.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listening on http://localhost:${port}/webhooks/gateway`);
});

process.once("SIGTERM", () => {
  server.close();
  void receiver.drain().then(() => pool.end());
});
