// GATEWAY_WEBHOOK_SECRET=… DATABASE_URL=postgres://… npx tsx examples/inbox-pg-boss.ts
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { createWebhookReceiver, RetryLater } from "identity-gateway-webhooks";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { inbox, pgBossConsume, pgBossEnqueue } from "identity-gateway-webhooks/pg-boss";
import PgBoss from "pg-boss";

const boss = new PgBoss(process.env["DATABASE_URL"] ?? "postgres://localhost/postgres");
// Without a listener, an error of a connection ends the process.
boss.on("error", (error) => {
  console.error("pg-boss", error);
});
await boss.start();

// The receiver answers the gateway 200 once the delivery is a job in PostgreSQL.
const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  handlers: inbox({ enqueue: pgBossEnqueue({ boss }) }),
});

// The worker runs the slow handlers. It can also be a separate process.
const stop = pgBossConsume({
  boss,
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

// Stop in this order: first the receiver, then the worker, and pg-boss last.
process.once("SIGTERM", () => {
  server.close();
  void receiver
    .drain()
    .then(stop)
    .then(() => boss.stop());
});
