import { Queue, Worker, type Job, type Processor, type WorkerOptions } from "bullmq";
import { bullmqConsume, bullmqEnqueue, type Enqueue } from "identity-gateway-webhooks/bullmq";
import type { Workers } from "./inbox-receiver.js";
import type { Ledger } from "./ledger.js";
import { QUEUE, type ReceiverConfig } from "./receiver-config.js";

/** Opens the queue and starts its worker. Records in the ledger when BullMQ has stored a result. */
export function openBullmq(
  { port, holdMs }: ReceiverConfig,
  ledger: Ledger,
  workers: Workers,
): Enqueue {
  const connection = { host: "127.0.0.1", port, retryStrategy: () => 50 };
  const queue = new Queue(QUEUE, { connection: { ...connection, enableOfflineQueue: false } });
  queue.on("error", () => undefined);
  class NotingWorker extends Worker {
    constructor(name: string, processor: Processor, options: WorkerOptions) {
      super(name, processor, options);
      this.on("completed", ({ id = "" }: Job) => {
        ledger.write({ kind: "settled", id });
      });
    }
  }
  bullmqConsume({
    Worker: NotingWorker,
    queueName: QUEUE,
    workerOptions: {
      connection: { ...connection, maxRetriesPerRequest: null },
      ...{ concurrency: 10, lockDuration: holdMs, stalledInterval: 500, drainDelay: 1 },
    },
    ...workers,
  });
  return bullmqEnqueue({ queue, retryLimit: 100, retryDelayMs: 1_000 });
}
