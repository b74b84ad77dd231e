// GATEWAY_WEBHOOK_SECRET=… AMQP_URL=amqp://127.0.0.1 REDIS_PORT=6379 npx tsx examples/inbox-rabbitmq.ts
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import amqplib from "amqplib";
import { createWebhookReceiver, DiscardDelivery } from "identity-gateway-webhooks";
import { inbox, inboxConsume } from "identity-gateway-webhooks/inbox";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { rabbitmqQueue } from "identity-gateway-webhooks/rabbitmq";
import { redisStore } from "identity-gateway-webhooks/redis";
import { Redis } from "ioredis";

// The heartbeat finds a connection that died unnoticed. The driver connects again by itself.
const url = process.env["AMQP_URL"] ?? "amqp://127.0.0.1";
const driver = rabbitmqQueue({ connect: () => amqplib.connect(`${url}?heartbeat=10`) });

// The receiver answers the gateway 200 once the delivery is a job in RabbitMQ.
const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  handlers: inbox({ driver }),
});

// Remembers which jobs were handled, for all workers.
const client = new Redis(Number(process.env["REDIS_PORT"] ?? 6379));
client.on("error", (error) => {
  console.error("Redis", error);
});

// The worker runs the slow handlers. It can also be a separate process.
const worker = inboxConsume({
  driver,
  store: redisStore({ client }),
  handlers: {
    new_alarm: async (alarm, { id, signal }) => {
      await wait(100, undefined, { signal });
      console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
    },
    delete_my_data_event: (event, { id }) => {
      if (event.severity === "INFO")
        throw new DiscardDelivery({ reason: "informational events are not handled" });
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

// Stop in this order: first the receiver, then the worker, and the connections last.
process.once("SIGTERM", () => {
  server.close();
  void receiver
    .drain()
    .then(() => worker.stop())
    .then(() => driver.close())
    .then(() => client.quit());
});
