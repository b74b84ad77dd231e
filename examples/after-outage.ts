// GATEWAY_URL=https://… GATEWAY_CLIENT_ID=… GATEWAY_CLIENT_SECRET=… GATEWAY_WEBHOOK_SECRET=… npx tsx examples/after-outage.ts addresses.txt 2026-07-08T10:00:00Z
// Handles what was given up during an outage: reads the gateway's lists for each account, by its e-mail address. It can
// run again, and beside the receiver, which needs the same database and once: "record". Ends with 1 if anything is left.
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import Database from "better-sqlite3";
import {
  createWebhookReceiver,
  parseGatewayTime,
  type WebhookType,
} from "identity-gateway-webhooks";
import {
  createManagementClient,
  ManagementError,
  recoverRecord,
} from "identity-gateway-webhooks/management";
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

const [, , file = "addresses.txt", beganAt = ""] = process.argv;
/** What the gateway had given up by the beginning of the outage was at most 36 hours old. */
const since = parseGatewayTime(beganAt).getTime() - 36 * 3_600_000;

/** Older ones are not known to the store any more. A record whose time cannot be read is handled. */
function isOld(record: unknown): boolean {
  const { created_at, occurred_at } = Object(record) as Readonly<Record<string, string>>;
  try {
    return parseGatewayTime(created_at ?? occurred_at ?? "").getTime() < since;
  } catch {
    return false;
  }
}

/** Calls the gateway again while it throttles. */
async function request(...call: Parameters<typeof client.request>): Promise<unknown> {
  for (;;) {
    try {
      return await client.request(...call);
    } catch (error) {
      if (!(error instanceof ManagementError && error.code === "throttled")) throw error;
      await pause(error.retryAfterMs ?? 10_000);
    }
  }
}

const counts: Record<string, number> = {};

async function recoverAccount(email: string): Promise<void> {
  const body = { ...login, email };
  const { token } = (await request("POST", "/api/v1/sso/token", { body, token: null })) as {
    token: string;
  };
  for (const [type, path] of lists) {
    const answer = (await request("GET", path, { token })) as unknown[] | { data: unknown[] };
    for (const record of Array.isArray(answer) ? answer : answer.data) {
      if (isOld(record)) continue;
      const { outcome } = await recoverRecord(receiver, { type, record });
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
  }
}

for (const [index, line] of readFileSync(file, "utf8").split("\n").entries()) {
  if (line.trim() === "") continue;
  try {
    await recoverAccount(line.trim());
  } catch (error) {
    // Without the address: it is personal data.
    console.error(`line ${index + 1}: ${String(error)}`);
    process.exitCode = 1;
  }
}
console.log(JSON.stringify(counts));
const done = ["handled", "duplicate", "discarded"];
if (Object.keys(counts).some((outcome) => !done.includes(outcome))) process.exitCode = 1;
await receiver.drain();
database.close();
