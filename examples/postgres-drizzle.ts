// GATEWAY_WEBHOOK_SECRET=… DATABASE_URL=postgres://… npx tsx examples/postgres-drizzle.ts
// Like postgres.ts. The handler writes with Drizzle in the same transaction.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { drizzle } from "drizzle-orm/node-postgres";
import { bigint, pgTable, text } from "drizzle-orm/pg-core";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { postgresTransactions } from "identity-gateway-webhooks/postgres";
import pg from "pg";

const alarms = pgTable("alarms", {
  deliveryId: text("delivery_id").notNull(),
  accountId: bigint("account_id", { mode: "number" }).notNull(),
  eventType: text("event_type"),
  text: text("text"),
});

const pool = new pg.Pool({
  connectionString: process.env["DATABASE_URL"],
  connectionTimeoutMillis: 5_000,
});
pool.on("error", ({ message }) => {
  console.error(`idle connection lost: ${message}`);
});

const store = postgresTransactions({ pool });
await store.migrate();
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
      // Do not call its `transaction()`, which would end the store's transaction. Use savepoints.
      const db = drizzle(tx);
      await db.insert(alarms).values({
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
