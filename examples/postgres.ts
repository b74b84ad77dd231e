// GATEWAY_WEBHOOK_SECRET=… DATABASE_URL=postgres://… npx tsx examples/postgres.ts
// The alarm and the row that remembers its delivery are committed together, or neither is.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { postgresTransactions } from "identity-gateway-webhooks/postgres";
import pg from "pg";

const pool = new pg.Pool({
  connectionString: process.env["DATABASE_URL"],
  max: 20, // one client for each delivery that is being handled
  connectionTimeoutMillis: 5_000,
});
// Without a listener, a broken idle connection ends the process.
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
      await tx.query(
        "INSERT INTO alarms (delivery_id, account_id, event_type, text) VALUES ($1, $2, $3, $4)",
        [id, alarm.account_id, alarm.event_type, alarm.text],
      );
      console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
    },
  },
});

const purge = setInterval(() => {
  store.purge().catch(console.error);
}, 3_600_000);

const server = createServer(nodeHandler(receiver));
server.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listening on http://localhost:${port}/webhooks/gateway`);
});

process.once("SIGTERM", () => {
  clearInterval(purge);
  server.close();
  void receiver.drain().then(() => pool.end());
});
