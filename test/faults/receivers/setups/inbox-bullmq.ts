import { Queue, Worker } from "bullmq";
import { bullmqQueue } from "identity-gateway-webhooks/bullmq";
import { inboxConsume } from "identity-gateway-webhooks/inbox";
import { redisStore } from "identity-gateway-webhooks/redis";
import { withQueue } from "../inbox-receiver.js";
import { notingCompletions } from "../observe.js";
import { QUEUE } from "../receiver-config.js";
import { openRedis } from "../redis-client.js";

export const makeReceiver = withQueue(({ port, holdMs }, ledger, workers) => {
  const connection = { host: "127.0.0.1", port, retryStrategy: () => 50 };
  const queue = new Queue(QUEUE, { connection: { ...connection, enableOfflineQueue: false } });
  queue.on("error", () => undefined);
  const driver = bullmqQueue({
    queue,
    Worker,
    workerOptions: {
      connection: { ...connection, maxRetriesPerRequest: null },
      lockDuration: holdMs,
      stalledInterval: 500,
      drainDelay: 1,
    },
  });
  const store = notingCompletions(redisStore({ client: openRedis(port) }), ledger);
  inboxConsume({
    driver,
    store,
    leaseMs: holdMs,
    retryDelayMs: 1_000,
    dependencyTimeoutMs: 700,
    ...workers,
  });
  return driver;
});
