// A receiver that is killed, in a process of its own: `serve` prints its port and receives, `recover` gives each
// record of the gateway's lists to `recoverRecord` and prints the outcome.
import http from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { Redis } from "ioredis";
import pg from "pg";
import { nodeHandler } from "../../../adapters/node.js";
import {
  createWebhookReceiver,
  type DeliveryContext,
  type DeliveryStore,
  type TransactionalStore,
  type WebhookReceiver,
} from "../../../src/index.js";
import { createManagementClient, recoverRecord } from "../../../src/management/index.js";
import { postgresTransactions } from "../../../src/stores/postgres/index.js";
import { redisStore } from "../../../src/stores/redis/index.js";
import { TEST_SECRET } from "../../support/deliveries.js";
import { ACCOUNTS, LEASE_MS, LEDGER, LISTS, TEST_TIME, keyOf, type Role } from "./run-facts.js";

const { engine, at, recoverFrom } = JSON.parse(process.argv[2] ?? "") as Role;
let now = Date.now();

/** A receiver whose handler writes what it handles, then takes a moment in which a kill finds it. */
function receiverOn<Tx>(
  store: DeliveryStore | TransactionalStore<Tx>,
  write: (line: string, context: DeliveryContext<Tx>) => unknown,
): WebhookReceiver {
  const handle = async (record: object, context: DeliveryContext<Tx>): Promise<void> => {
    await write(JSON.stringify({ key: keyOf(record), by: process.pid }), context);
    await wait(2);
  };
  return createWebhookReceiver<Tx>({
    secret: TEST_SECRET,
    // Both kinds of stores in one function: the handlers get what theirs passes.
    store: store as TransactionalStore<Tx>,
    once: "record",
    leaseMs: LEASE_MS,
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    now: () => now,
    logger: false,
  });
}

function openReceiver(): WebhookReceiver {
  if (engine === "postgres") {
    const pool = new pg.Pool({ connectionString: at, max: 8 });
    return receiverOn(postgresTransactions({ pool }), (line, { tx }) =>
      tx.query(`INSERT INTO ${LEDGER} VALUES ($1)`, [line]),
    );
  }
  const client = new Redis(at);
  return receiverOn(redisStore({ client }), (line) => client.rpush(LEDGER, line));
}

const receiver = openReceiver();

if (recoverFrom === undefined) {
  const handle = nodeHandler(receiver);
  const server = http.createServer((req, res) => {
    now = Number(req.headers[TEST_TIME] ?? Date.now());
    handle(req, res);
  });
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${String((server.address() as AddressInfo).port)}\n`);
  });
} else {
  const client = createManagementClient({ baseUrl: recoverFrom, token: "unused" });
  const login = { client_id: "partner", client_secret: "secret" };
  for (const account of ACCOUNTS) {
    const body = { ...login, email: `${account}@example.com` };
    const signedIn = await client.request("POST", "/api/v1/sso/token", { body, token: null });
    const { token } = signedIn as { readonly token: string };
    for (const [type, path] of LISTS) {
      const { data } = (await client.request("GET", path, { token })) as { data: unknown[] };
      for (const record of data) {
        process.stdout.write(`${(await recoverRecord(receiver, { type, record })).outcome}\n`);
      }
    }
  }
  process.exit();
}
