import { EventEmitter } from "node:events";
import { expect, it, vi } from "vitest";
import type { InboxJob } from "../../src/inbox/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { rabbitmqQueue, type RabbitmqQueueOptions } from "../../src/inbox/rabbitmq/index.js";
import { deferred } from "../support/deferred.js";
import { pgBossStub } from "../support/inbox/pg-boss-stub.js";
import {
  alarmDelivery,
  alarmJob,
  inboxReceiver,
  watchWorker,
} from "../support/inbox/receiver-and-worker.js";

type Connection = Awaited<ReturnType<RabbitmqQueueOptions["connect"]>>;

it("a late connection of RabbitMQ is closed, and its error ends no process", async () => {
  vi.useFakeTimers();
  const connecting = deferred<Connection>();
  const driver = rabbitmqQueue({ connect: () => connecting.promise });
  const job = await alarmJob();
  const putting = expect(driver.put(job, undefined)).rejects.toThrow("connect took longer than");
  await vi.advanceTimersByTimeAsync(15_000);
  await putting;
  const connection = new EventEmitter();
  const close = vi.fn(() => Promise.resolve());
  connecting.resolve(Object.assign(connection, { close }) as unknown as Connection);
  await vi.advanceTimersByTimeAsync(0);
  expect(close).toHaveBeenCalledOnce();
  // Without a listener this throws, and ends a process in which a socket does it.
  expect(() => connection.emit("error", new Error("reset"))).not.toThrow();
});

// An engine may resolve a write although it made no job. Acknowledged then, the delivery would be lost.
it.each([
  ["nothing", undefined],
  ["no job", null],
])("a receiver answers 500 if pg-boss resolves to %s", async (_, answer) => {
  const boss = pgBossStub({ send: () => Promise.resolve(answer as null) });
  const receiver = inboxReceiver(pgBossQueue({ boss }));
  expect((await receiver.receive(await alarmDelivery(1))).status).toBe(500);
});

const JOBS = 20;

it("20 results that pg-boss cannot write cause no warning and no unhandled rejection", async () => {
  const common = { retryCount: 0, retryLimit: 9, heartbeatSeconds: 60, createdOn: new Date() };
  const jobs: (typeof common & { id: string; data: InboxJob })[] = [];
  for (let at = 0; at < JOBS; at++) {
    jobs.push({ id: `job-${String(at)}`, data: await alarmJob(`id-${String(at)}`), ...common });
  }
  const batches = [jobs];
  const warnings: unknown[] = [];
  const note = (warning: unknown) => warnings.push(warning);
  process.on("warning", note);
  process.on("unhandledRejection", note);
  let refused = 0;
  const driver = pgBossQueue({
    boss: pgBossStub({
      fetch: () => Promise.resolve((batches.shift() ?? []) as never),
      deleteJob() {
        refused += 1;
        return Promise.reject(new Error("the database is away"));
      },
    }),
  });
  const { stop } = watchWorker(driver, () => undefined, { concurrency: JOBS });
  await expect.poll(() => refused).toBeGreaterThanOrEqual(JOBS);
  await stop();
  // Node emits a warning in a later turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  process.off("unhandledRejection", note);
  expect(warnings).toEqual([]);
});
