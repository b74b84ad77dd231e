import { Queue, Worker } from "bullmq";
import { createServer } from "node:http";
import { createWebhookReceiver, memoryStore } from "identity-gateway-webhooks";
import { bullmqQueue } from "identity-gateway-webhooks/bullmq";
import { inbox, inboxConsume } from "identity-gateway-webhooks/inbox";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { TEST_SECRET } from "identity-gateway-webhooks/testing";
import { listen } from "../../support/servers.js";
import { newMetrics } from "./measured.js";

/** A partner's app with an inbox: a receiver that writes jobs, and a worker that runs them. */
export type InboxApp = Awaited<ReturnType<typeof startInboxApp>>;

/** Starts the app on a free port of 127.0.0.1, with a queue in the Redis at `redisPort`. */
export async function startInboxApp(redisPort: number) {
  const connection = { host: "127.0.0.1", port: redisPort, maxRetriesPerRequest: null };
  const { telemetry, serveMetrics } = newMetrics();
  const queue = new Queue("gateway-deliveries", { connection });
  queue.on("error", () => undefined);
  await queue.waitUntilReady();
  const driver = bullmqQueue({ queue, Worker, workerOptions: { connection } });
  let isFailing = false;

  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    telemetry,
    logger: false,
    handlers: inbox({ driver, telemetry }),
  });
  const handle = (): void => {
    if (isFailing) throw new Error("a planted failure");
  };
  const { stop } = inboxConsume({
    driver,
    store: memoryStore(),
    retryLimit: 0,
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    telemetry,
    logger: false,
  });

  const handleWebhook = nodeHandler(receiver);
  const server = createServer((req, res) => {
    if (req.url === "/metrics") serveMetrics(req, res);
    else void handleWebhook(req, res);
  });
  const { port, close } = await listen(server);
  return {
    port,
    url: `http://127.0.0.1:${port}/webhooks/gateway`,
    /** While true, each job fails, and is dead at once: the queue tries each job once. */
    setFailing(fails: boolean) {
      isFailing = fails;
    },
    async close() {
      server.closeAllConnections();
      await close();
      await receiver.drain({ timeoutMs: 5_000 });
      await stop();
      await queue.close();
    },
  };
}
