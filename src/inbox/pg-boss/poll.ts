import { within } from "../../common/timers.js";
import { queueErrorOf } from "../queue-error.js";
import type { WorkerLog } from "../worker-log.js";
import type { PgBossJob } from "./client.js";
import type { RunJob } from "./run.js";

/** How a queue is polled. */
export interface Polling {
  readonly concurrency: number;
  readonly pollIntervalMs: number;
}

/** A network that swallows the fetch gives no answer at all, and the next one takes another connection. */
const FETCH_TIMEOUT_MS = 10_000;

/**
 * Fetches jobs and runs them until `stopping` aborts; resolves when the running ones have settled. Never
 * rejects. pg-boss's own `work` is not used: it judges a batch as one, takes one job a poll without, and
 * leaves a result that the database refuses as an unhandled rejection, which ends a process of Node.
 */
export async function pollQueue(
  fetch: (batchSize: number) => PromiseLike<readonly PgBossJob[]>,
  runJob: RunJob,
  { concurrency, pollIntervalMs }: Polling,
  stopping: AbortSignal,
  log: WorkerLog,
): Promise<void> {
  const running = new Set<Promise<void>>();
  /** Jobs that came when their fetch was no longer waited for, and when that one began. */
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
      log("error", "pg-boss gave no jobs", { error: queueErrorOf("pg-boss", error) });
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
    const room = concurrency - running.size;
    mayHaveMore = (await fetchJobs(room)) === room;
    // What ended during the fetch has made room that nobody will wake us for.
    const hasRoom = running.size < concurrency;
    if (isStopped() || (mayHaveMore && hasRoom)) continue;
    await sleep();
  }
  await Promise.all(running);
}
