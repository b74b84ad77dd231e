import type { Log } from "../../answer/logger.js";
import { within } from "../../common/timers.js";
import { queueErrorOf } from "../queue-error.js";
import type { PgBossJob } from "./client.js";

/** How a queue is polled. */
export interface Polling {
  /** The most jobs that run at the same time. */
  readonly concurrency: number;
  readonly pollIntervalMs: number;
}

/** A dead connection never answers the fetch. The next fetch takes another connection. */
const FETCH_TIMEOUT_MS = 10_000;

/**
 * Fetches jobs and runs them until `stopping` aborts. Resolves when the running jobs have settled. Never
 * rejects.
 *
 * pg-boss's own `work` is not used, for three reasons. It gives all jobs of a batch the same result.
 * Without batches it takes one job per poll. And if the database refuses a result, it leaves an unhandled
 * rejection, which ends a Node process.
 */
export async function pollQueue(
  fetch: (batchSize: number) => PromiseLike<readonly PgBossJob[]>,
  runJob: (job: PgBossJob, fetchedAtMs: number) => Promise<void>,
  { concurrency, pollIntervalMs }: Polling,
  stopping: AbortSignal,
  log: Log,
): Promise<void> {
  const running = new Set<Promise<void>>();
  /** Jobs that arrived after the timeout of their fetch, with the start of that fetch. */
  const late: [PgBossJob, number][] = [];
  const isStopped = () => stopping.aborted;
  let wake = (): void => undefined;
  let mayHaveMore = false;

  const sleep = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, pollIntervalMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const start = (job: PgBossJob, fetchedAtMs: number): void => {
    const run = runJob(job, fetchedAtMs).finally(() => {
      running.delete(run);
      if (mayHaveMore) wake();
    });
    running.add(run);
  };

  const fetchJobs = async (batchSize: number): Promise<number> => {
    if (batchSize === 0) return 0;
    const fetchedAtMs = performance.now();
    const keep = (jobs: readonly PgBossJob[]) => {
      for (const job of jobs) late.push([job, fetchedAtMs]);
    };
    try {
      const jobs = await within(FETCH_TIMEOUT_MS, "pg-boss's fetch", fetch(batchSize), keep);
      for (const job of jobs) start(job, fetchedAtMs);
      return jobs.length;
    } catch (error) {
      log.error("the fetch of jobs from pg-boss failed", {
        error: queueErrorOf("pg-boss", error),
      });
      return 0;
    }
  };

  stopping.addEventListener("abort", () => {
    wake();
  });
  while (!isStopped()) {
    for (const [job, fetchedAtMs] of late.splice(0, concurrency - running.size)) {
      start(job, fetchedAtMs);
    }
    const free = concurrency - running.size;
    mayHaveMore = (await fetchJobs(free)) === free;
    // A job that ended during the fetch called `wake` before the sleep, so check for free slots here.
    const hasFreeSlot = running.size < concurrency;
    if (isStopped() || (mayHaveMore && hasFreeSlot)) continue;
    await sleep();
  }
  await Promise.all(running);
}
