import { expect, test } from "vitest";
import { memoryStore } from "../../src/index.js";
import { inbox, inboxConsume, type InboxJob } from "../../src/inbox/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { delivery } from "../support/deliveries.js";
import { pgBossStub } from "../support/inbox/pg-boss-stub.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const JOBS = 20;

/** The jobs of as many deliveries, as pg-boss hands them out. */
async function fetchedJobs(): Promise<object[]> {
  const jobs: InboxJob[] = [];
  const driver = { put: (job: InboxJob) => Promise.resolve(jobs.push(job)) };
  const { receive } = recordingReceiver({ handlers: inbox({ driver }) });
  for (let at = 0; at < JOBS; at++) await receive(await delivery({ id: `id-${String(at)}` }));
  const common = { retryCount: 0, retryLimit: 9, heartbeatSeconds: 60, createdOn: new Date() };
  return jobs.map((data, at) => ({ id: `job-${String(at)}`, data, ...common }));
}

test("a worker of pg-boss with 20 results that the database refuses causes no warning and no unhandled rejection", async () => {
  const batches = [await fetchedJobs()];
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
  const handlers = { new_alarm: () => undefined };
  const options = { driver, handlers, concurrency: JOBS, logger: false } as const;
  const { stop } = inboxConsume({ ...options, store: memoryStore() });
  await expect.poll(() => refused).toBeGreaterThanOrEqual(JOBS);
  await stop();
  // Node emits a warning in a later turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  process.off("unhandledRejection", note);
  expect(warnings).toEqual([]);
});
