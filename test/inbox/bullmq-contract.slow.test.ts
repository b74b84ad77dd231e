import { randomUUID } from "node:crypto";
import { Queue, Worker, type WorkerOptions } from "bullmq";
import { it } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import { bullmqQueue } from "../../src/inbox/bullmq/index.js";
import { describeOnBullmq } from "../support/inbox/inbox-engines.js";

const HOLD_MS = 2_000;

describeOnBullmq("BullMQ", (engine) => {
  const cases = queueDriverContract(
    () => {
      const { connection } = engine();
      const queueName = randomUUID();
      const queue = new Queue(queueName, { connection });
      const workerOptions = {
        ...{ connection, lockDuration: HOLD_MS / 2, stalledInterval: HOLD_MS / 2, drainDelay: 1 },
      };
      const workers: Worker[] = [];
      class KillableWorker extends Worker {
        constructor(name: string, processor: undefined, options: WorkerOptions) {
          super(name, processor, options);
          workers.push(this);
        }
      }
      const driver = bullmqQueue({ queue, Worker: KillableWorker, workerOptions });
      return {
        driver,
        otherClient: bullmqQueue({ queue, Worker, workerOptions }),
        async kill() {
          await Promise.all(workers.map((worker) => worker.disconnect()));
        },
        close: () => queue.close(),
      };
    },
    { holdMs: HOLD_MS },
  );

  it.each(cases.map((one) => [one.title, one] as const))(
    "BullMQ keeps the contract: %s",
    async (_, { run }) => {
      await run();
    },
  );
});
