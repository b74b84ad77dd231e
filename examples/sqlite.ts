// GATEWAY_WEBHOOK_SECRET=… DATABASE_FILE=alarms.db npx tsx examples/sqlite.ts
// The alarm and the row that remembers its delivery are committed together, or neither is.
// If handlers do more than write to this file, use `sqliteStore({ database })` instead: it has leases and
// no `tx`, and other deliveries go on while a handler waits.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Database from "better-sqlite3"; // or libsql, or DatabaseSync of node:sqlite
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { sqliteTransactions } from "identity-gateway-webhooks/sqlite";

const file = process.env["DATABASE_FILE"] ?? "alarms.db";
// Use this handle only for deliveries: while a handler waits, anything else that is written through it is
// committed or rolled back with that delivery. The rest of the application opens its own handle.
const database = new Database(file);
const store = sqliteTransactions({ database });
database.exec(`CREATE TABLE IF NOT EXISTS alarms (
  delivery_id TEXT NOT NULL, account_id INTEGER NOT NULL, event_type TEXT, text TEXT
)`);

const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  store,
  handlers: {
    new_alarm: (alarm, { id, tx }) => {
      tx.prepare(
        "INSERT INTO alarms (delivery_id, account_id, event_type, text) VALUES (?, ?, ?, ?)",
      ).run(id, alarm.account_id, alarm.event_type, alarm.text);
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
  void receiver.drain().then(() => database.close());
});
