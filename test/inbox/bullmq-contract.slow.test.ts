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
        connection,
        lockDuration: HOLD_MS / 2,
        stalledInterval: HOLD_MS / 2,
        drainDelay: 1,
      };
      const newClient = () => {
        const workers: Worker[] = [];
        class KillableWorker extends Worker {
          constructor(name: string, processor: undefined, options: WorkerOptions) {
            super(name, processor, options);
            workers.push(this);
          }
        }
        return {
          driver: bullmqQueue({ queue, Worker: KillableWorker, workerOptions }),
          async kill() {
            await Promise.all(workers.map((worker) => worker.disconnect()));
          },
        };
      };
      return {
        ...newClient(),
        newClient,
        otherClient: bullmqQueue({ queue, Worker, workerOptions }),
        async putStrange() {
          const strange = [{ timestamp: 9e15 }, { timestamp: -1 }, { jobId: "a:b:c" }];
          for (const options of strange) await queue.add("x", { id: "a", type: "b" }, options);
          await queue.add("x", { version: 2 });
          return strange.length + 1;
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
