// GATEWAY_WEBHOOK_SECRET=… DATABASE_URL=postgres://… npx tsx examples/postgres-drizzle.ts
// Like postgres.ts, but the handler writes in the transaction of Drizzle.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { sql as raw } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { bigint, pgTable, text } from "drizzle-orm/pg-core";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { sqlSchema, sqlTransactions } from "identity-gateway-webhooks/sql";
import pg from "pg";

const alarms = pgTable("alarms", {
  deliveryId: text("delivery_id").notNull(),
  accountId: bigint("account_id", { mode: "number" }).notNull(),
  eventType: text("event_type"),
  text: text("text"),
});

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
const db = drizzle(pool);

type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0];
const store = sqlTransactions<Tx>({
  dialect: "postgres",
  transaction: (run) => db.transaction(run),
  query: (tx, sql) => tx.execute(raw.raw(sql)),
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
    new_alarm: async (alarm, { id, tx }) => {
      await tx.insert(alarms).values({
        deliveryId: id,
        accountId: alarm.account_id,
        eventType: alarm.event_type,
        text: alarm.text,
      });
      console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
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
