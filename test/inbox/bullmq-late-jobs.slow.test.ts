import { Worker, type Job, type Processor, type WorkerOptions } from "bullmq";
import { expect, it } from "vitest";
import { deferred } from "../support/deferred.js";
import { bullmqConsume } from "../../src/inbox/bullmq/index.js";
import { describeOnBullmq } from "../support/inbox/inbox-engines.js";
import {
  alarmDelivery,
  inboxReceiver,
  settlesAt,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";

describeOnBullmq("BullMQ", (engine) => {
  const open = (name: string) => engine().open(name, { retryDelayMs: 1_000, retryLimit: 3 });

  /** A worker whose jobs arrive when `arrive` resolves, as if the network had held back Redis's answer. */
  const workerThatWaits = (arrive: (job: Job) => Promise<unknown>): typeof Worker =>
    class LateWorker extends Worker {
      constructor(name: string, processor: Processor, options: WorkerOptions) {
        super(
          name,
          async (job, token) => {
            await arrive(job);
            return processor(job, token) as Promise<unknown>;
          },
          // BullMQ renews no lock of a job that it has not received.
          { ...options, lockRenewTime: 3_600_000 },
        );
      }
    };

  const connection = () => ({ ...engine().connection, maxRetriesPerRequest: null });

  it("a job that arrives after it has lost its lock is left to the worker that has it", async () => {
    const { queue, enqueue, completed, consume } = await open("late");
    await inboxReceiver(enqueue).receive(await alarmDelivery(1));
    const runs: string[] = [];
    const lines: string[] = [];
    const stopLate = bullmqConsume({
      Worker: workerThatWaits(() => settlesAt(completed, 1)),
      queueName: "late",
      workerOptions: { connection: connection(), lockDuration: 500, stalledInterval: 500 },
      handlers: { new_alarm: () => runs.push("late") },
      logger: { warn: (line) => lines.push(line), error: (line) => lines.push(line) },
    });
    await settlesAt(() => queue.getActiveCount(), 1);
    const { stop } = watchWorker({ consume }, () => runs.push("in time"));
    await settlesAt(
      () => lines.filter((line) => line.includes("arrived after its lock had expired")).length,
      1,
    );
    await stopLate();
    await stop();
    expect(runs).toEqual(["in time"]);
    expect(await completed()).toBe(1);
  });

  it("a job that arrives late with its lock gets a new lock and runs", async () => {
    const { queue, enqueue, completed } = await open("just-in-time");
    await inboxReceiver(enqueue).receive(await alarmDelivery(1));
    const locks: number[] = [];
    const stop = bullmqConsume({
      Worker: workerThatWaits(async (job) => {
        // As after 20 of the lock's 30 seconds.
        job.processedOn = Date.now() - 20_000;
        await engine().redis.pexpire(`${queue.toKey(job.id ?? "")}:lock`, 10_000);
      }),
      queueName: "just-in-time",
      workerOptions: { connection: connection() },
      handlers: {
        new_alarm: async (_, { id }) => {
          locks.push(await engine().redis.pttl(`${queue.toKey(id)}:lock`));
        },
      },
    });
    await settlesAt(completed, 1);
    await stop();
    expect(locks).toHaveLength(1);
    expect(locks[0]).toBeGreaterThan(20_000);
  });

  it("a BullMQ job that starts while its worker is stopping runs with an aborted signal", async () => {
    const { enqueue, completed } = await open("last");
    await inboxReceiver(enqueue).receive(await alarmDelivery(1));
    const taken = deferred();
    const release = deferred();
    const reasons: unknown[] = [];
    const stop = bullmqConsume({
      Worker: workerThatWaits(() => {
        taken.resolve();
        return release.promise;
      }),
      queueName: "last",
      workerOptions: { connection: connection() },
      handlers: { new_alarm: (_, { signal }) => reasons.push(signal.reason) },
      logger: false,
    });
    await taken.promise;
    const stopped = stop();
    release.resolve();
    await stopped;
    expect(reasons).toEqual([expect.objectContaining({ code: "worker_stopping" })]);
    expect(await completed()).toBe(1);
  });
});
