// GATEWAY_URL=https://… GATEWAY_CLIENT_ID=… GATEWAY_CLIENT_SECRET=… GATEWAY_WEBHOOK_SECRET=… npx tsx examples/after-outage.ts addresses.txt
// Handles what was given up during an outage: reads the gateway's lists for each account, by its e-mail address. It can
// run again, and beside the receiver, which needs the same database and once: "record".
import { readFileSync } from "node:fs";
import Database from "better-sqlite3";
import {
  createWebhookReceiver,
  parseGatewayTime,
  type WebhookType,
} from "identity-gateway-webhooks";
import { createManagementClient, recoverRecord } from "identity-gateway-webhooks/management";
import { sqliteTransactions } from "identity-gateway-webhooks/sqlite";

const database = new Database(process.env["DATABASE_FILE"] ?? "alarms.db");
database.exec(`CREATE TABLE IF NOT EXISTS alarms (
  delivery_id TEXT NOT NULL, account_id INTEGER NOT NULL, event_type TEXT, text TEXT
)`);

// The store, `once` and the handlers of your receiver.
const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  store: sqliteTransactions({ database }),
  once: { record: true, scope: "production" },
  handlers: {
    new_alarm: (alarm, { id, tx }) => {
      tx.prepare("INSERT INTO alarms VALUES (?, ?, ?, ?)").run(
        id,
        alarm.account_id,
        alarm.event_type,
        alarm.text,
      );
      const hours = (Date.now() - parseGatewayTime(alarm.created_at).getTime()) / 3_600_000;
      console.log(`account ${alarm.account_id}: ${alarm.event_type}, ${hours.toFixed(1)} h late`);
    },
    delete_my_data_event: ({ account_id, type }) => {
      console.log(`account ${account_id}: ${type}`);
    },
  },
});

const client = createManagementClient({
  baseUrl: process.env["GATEWAY_URL"] ?? "",
  token: "unused", // each call has a token of its own
});
const login = {
  client_id: process.env["GATEWAY_CLIENT_ID"],
  client_secret: process.env["GATEWAY_CLIENT_SECRET"],
};
const lists: readonly [WebhookType, string][] = [
  ["new_alarm", "/api/v1/alarms"],
  ["delete_my_data_event", "/api/v1/delete-my-data/events"],
];

const counts: Record<string, number> = {};
const addresses = readFileSync(process.argv[2] ?? "addresses.txt", "utf8").split("\n");
for (const email of addresses.map((line) => line.trim()).filter((line) => line !== "")) {
  const body = { ...login, email };
  const { token } = (await client.request("POST", "/api/v1/sso/token", { body, token: null })) as {
    token: string;
  };
  for (const [type, path] of lists) {
    const answer = (await client.request("GET", path, { token })) as
      unknown[] | { data: unknown[] };
    for (const record of Array.isArray(answer) ? answer : answer.data) {
      const { outcome } = await recoverRecord(receiver, { type, record });
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
  }
}
console.log(JSON.stringify(counts));
database.close();
