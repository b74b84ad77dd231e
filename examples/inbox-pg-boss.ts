// GATEWAY_WEBHOOK_SECRET=… DATABASE_URL=postgres://… npx tsx examples/inbox-pg-boss.ts
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { createWebhookReceiver, RetryLater } from "identity-gateway-webhooks";
import { inbox, inboxConsume } from "identity-gateway-webhooks/inbox";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { pgBossQueue } from "identity-gateway-webhooks/pg-boss";
import { postgresStore } from "identity-gateway-webhooks/postgres";
import pg from "pg";
import { PgBoss } from "pg-boss";

const connectionString = process.env["DATABASE_URL"] ?? "postgres://localhost/postgres";
const boss = new PgBoss(connectionString);
// Without a listener, an error of a connection ends the process.
boss.on("error", (error) => {
  console.error("pg-boss", error);
});
await boss.start();
const driver = pgBossQueue({ boss });

// The receiver answers the gateway 200 once the delivery is a job in PostgreSQL.
const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  handlers: inbox({ driver }),
});

// Remembers for all workers which jobs were handled.
const pool = new pg.Pool({ connectionString });
pool.on("error", ({ message }) => {
  console.error(`idle connection lost: ${message}`);
});
const store = postgresStore({ pool });
await store.migrate();

// The worker runs the slow handlers. It can also be a separate process.
const worker = inboxConsume({
  driver,
  store,
  handlers: {
    new_alarm: async (alarm, { id, signal }) => {
      await wait(100, undefined, { signal });
      console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
    },
    delete_my_data_event: (event, { id, takeover }) => {
      // An earlier run was interrupted, so its effect may already be there.
      if (takeover) throw new RetryLater({ afterMs: 60_000 });
      console.log(`${id}: ${event.type}`);
    },
    // doctor and send also make up records that no version knows. Theirs are done, and a real one stays visible:
    // it is tried again, then dead.
    unrecognized: ({ type }, { id }) => {
      if (!id.startsWith("7e57da7a-")) throw new Error(`this ${type} is not as documented`);
      console.log(`${id}: made up, not a documented ${type}`);
    },
  },
  // The gateway does not send a dead delivery again, so alert on it.
  onJob: ({ outcome, id, attempt }) => {
    if (outcome === "dead") console.error(`${id} is dead after ${String(attempt)} attempts`);
  },
});

const handleWebhook = nodeHandler(receiver);
const server = createServer((req, res) => {
  if (req.url === "/webhooks/gateway") handleWebhook(req, res);
  else res.writeHead(404).end();
});
server.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listening on http://localhost:${port}/webhooks/gateway`);
});

// Stop in this order: first the receiver, then the worker, and its clients last.
process.once("SIGTERM", () => {
  server.close();
  void receiver
    .drain()
    .then(() => worker.stop())
    .then(() => Promise.all([boss.stop(), pool.end()]));
});
