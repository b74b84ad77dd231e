// GATEWAY_WEBHOOK_SECRET=… MYSQL_URL=mysql://… npx tsx examples/mysql.ts
// The alarm and the row that remembers its delivery are committed together, or neither is.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { mysqlTransactions } from "identity-gateway-webhooks/mysql";
import { nodeHandler } from "identity-gateway-webhooks/node";
import mysql from "mysql2/promise";

const pool = mysql.createPool({
  uri: process.env["MYSQL_URL"] ?? "",
  connectionLimit: 20, // one connection for each delivery that is being handled
  connectTimeout: 5_000,
});

const store = mysqlTransactions({ pool });
await store.migrate();
// Not in the handler: MySQL commits before and after CREATE TABLE.
await pool.query(
  `CREATE TABLE IF NOT EXISTS alarms (
    delivery_id varchar(128) NOT NULL, account_id bigint NOT NULL, event_type text, text text
  )`,
);

const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  store,
  handlers: {
    new_alarm: async (alarm, { id, tx }) => {
      await tx.execute(
        "INSERT INTO alarms (delivery_id, account_id, event_type, text) VALUES (?, ?, ?, ?)",
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
