// tsx test/support/cli/partner-app-process.ts alarms.db 17,18
// The app of a partner: its own tables have primary keys, and refer to accounts that exist.
import type { AddressInfo } from "node:net";
import Database from "better-sqlite3";
import express from "express";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { expressHandler } from "identity-gateway-webhooks/express";
import { sqliteTransactions } from "identity-gateway-webhooks/sqlite";

const [file = "", accounts = ""] = process.argv.slice(2);
const database = new Database(file);
database.pragma("foreign_keys = ON");
database.exec(`
  CREATE TABLE accounts (id INTEGER PRIMARY KEY);
  CREATE TABLE alarms (
    id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES accounts, delivery_id TEXT NOT NULL
  );
  CREATE TABLE events (
    delivery_id TEXT PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES accounts, type TEXT NOT NULL
  );
`);
for (const id of accounts.split(",")) database.prepare("INSERT INTO accounts VALUES (?)").run(id);

const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  store: sqliteTransactions({ database }),
  handlers: {
    // Two active webhooks bring one alarm under two delivery ids.
    new_alarm: (alarm, { id, tx }) =>
      tx
        .prepare("INSERT INTO alarms VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
        .run(alarm.id, alarm.account_id, id),
    delete_my_data_event: (event, { id, tx }) =>
      tx.prepare("INSERT INTO events VALUES (?, ?, ?)").run(id, event.account_id, event.type),
  },
});

const counted = database
  .prepare<[string, string]>(
    `SELECT (SELECT count(*) FROM alarms WHERE delivery_id = ?)
      + (SELECT count(*) FROM events WHERE delivery_id = ?)`,
  )
  .pluck();
const app = express();
app.all("/webhooks/gateway", expressHandler(receiver));
app.get("/handled/:id", ({ params: { id } }, res) => void res.json(counted.get(id, id)));
const server = app.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port}/webhooks/gateway\n`);
});
