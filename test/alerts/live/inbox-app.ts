import { Queue, Worker } from "bullmq";
import { createServer } from "node:http";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { bullmqConsume, bullmqEnqueue, inbox } from "identity-gateway-webhooks/bullmq";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { TEST_SECRET } from "identity-gateway-webhooks/testing";
import { listen } from "../../support/servers.js";
import { newMetrics } from "./measured.js";

/** A partner's app with an inbox: a receiver that writes jobs, and a worker that runs them. */
export interface InboxApp {
  readonly port: number;
  readonly url: string;
  /** While true, each job fails, and is dead at once: the queue tries each job once. */
  readonly setFailing: (fails: boolean) => void;
  readonly close: () => Promise<void>;
}

/** Starts the app on a free port of 127.0.0.1, with a queue in the Redis at `redisPort`. */
export async function startInboxApp(redisPort: number): Promise<InboxApp> {
  const connection = { host: "127.0.0.1", port: redisPort, maxRetriesPerRequest: null };
  const { telemetry, serveMetrics } = newMetrics();
  const queue = new Queue("gateway-deliveries", { connection });
  queue.on("error", () => undefined);
  await queue.waitUntilReady();
  let isFailing = false;

  const receiver = createWebhookReceiver({
    ...{ secret: TEST_SECRET, telemetry, logger: false },
    handlers: inbox({ enqueue: bullmqEnqueue({ queue, retryLimit: 0 }), telemetry }),
  });
  const handle = (): void => {
    if (isFailing) throw new Error("a planted failure");
  };
  const stop = bullmqConsume({
    Worker,
    workerOptions: { connection, concurrency: 10 },
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    ...{ telemetry, logger: false },
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
    setFailing(fails) {
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
