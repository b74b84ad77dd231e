import { expect, test, vi } from "vitest";
import { inbox, type InboxJob } from "../../src/inbox/index.js";
import { pgBossConsume } from "../../src/inbox/pg-boss/index.js";
import { delivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const JOBS = 20;

/** The jobs of as many deliveries, as pg-boss hands them out. */
async function fetchedJobs(): Promise<object[]> {
  const jobs: InboxJob[] = [];
  const enqueue = (job: InboxJob) => {
    jobs.push(job);
    return Promise.resolve();
  };
  const { receive } = recordingReceiver({ handlers: inbox({ enqueue }) });
  for (let at = 0; at < JOBS; at++) await receive(await delivery({ id: `id-${String(at)}` }));
  const now = new Date();
  return jobs.map((data, at) => ({
    id: `job-${String(at)}`,
    data,
    expireInSeconds: 900,
    retryCount: 0,
    retryLimit: 9,
    startedOn: now,
    createdOn: now,
    output: null,
  }));
}

test("a worker of pg-boss with 20 results that wait for the database gives Node no reason to warn of a memory leak", async () => {
  const batches = [await fetchedJobs()];
  const warnings: unknown[] = [];
  const note = (warning: unknown) => warnings.push(warning);
  process.on("warning", note);
  vi.useFakeTimers();
  let isAway = true;
  let writes = 0;
  const stop = pgBossConsume({
    boss: {
      fetch: () => Promise.resolve((batches.shift() ?? []) as never),
      getDb: () => ({
        executeSql() {
          writes += 1;
          return isAway
            ? Promise.reject(new Error("the database is away"))
            : Promise.resolve({ rows: [{ id: "written" }] });
        },
      }),
    },
    concurrency: JOBS,
    logger: false,
    handlers: { new_alarm: () => undefined },
  });
  await vi.advanceTimersByTimeAsync(500);
  expect(writes).toBeGreaterThanOrEqual(JOBS);
  isAway = false;
  await vi.advanceTimersByTimeAsync(5_000);
  await stop();
  vi.useRealTimers();
  // Node emits a warning in a later turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  expect(warnings).toEqual([]);
});
