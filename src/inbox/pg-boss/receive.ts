import { pause, repeat, within } from "../../common/timers.js";
import { queueErrorOf } from "../queue-error.js";
import type { QueueMessage, ReceiveOptions, Receiving } from "../queue-driver.js";
import type { PgBossClient, PgBossJob } from "./client.js";
import { markReported, reportMissed } from "./dead-job-watch.js";
import { messageOf } from "./messages.js";
import type { PgBossTables } from "./sql.js";

/** A dead connection never answers the fetch. The next fetch takes another connection. */
const FETCH_TIMEOUT_MS = 10_000;
/** How many poll intervals lie between two searches for unreported dead jobs. */
const POLLS_PER_WATCH = 10;

/**
 * Fetches jobs and runs them until it is stopped.
 *
 * pg-boss's own `work` is not used, for three reasons. It gives all jobs of a batch the same result.
 * Without batches it takes one job per poll. And if the database refuses a result, it leaves an unhandled
 * rejection, which ends a Node process.
 */
export function receiveJobs(
  boss: PgBossClient,
  tables: PgBossTables,
  pollIntervalMs: number,
  run: (message: QueueMessage) => Promise<void>,
  options: ReceiveOptions,
): Receiving {
  const stopping = new AbortController();
  const { signal } = stopping;
  const isStopped = () => signal.aborted;
  const { concurrency, leaseMs } = options;
  const report = (what: string) => (error: unknown) => options.onError(queueErrorOf(what, error));
  const running = new Set<Promise<void>>();
  /** Jobs that arrived after the timeout of their fetch. */
  const late: PgBossJob[] = [];
  let wake = (): void => undefined;
  let mayHaveMore = false;

  const runJob = async (job: PgBossJob): Promise<void> => {
    const letters: string[] = [];
    const message = messageOf(tables, job, (letter) => letters.push(letter));
    // The job expires as its producer says, which does not know the lease of this worker.
    if (!(Number(job.expireInSeconds) * 1_000 >= leaseMs)) await hold(message);
    await run(message);
    if (letters.length === 0) return;
    // The report is made by now. If this fails, another worker makes it once more.
    await markReported(tables, letters).catch(report("a dead job may be reported once more"));
  };
  const hold = async (message: QueueMessage): Promise<void> => {
    const extending = (async () => message.extend?.(leaseMs))();
    await within(FETCH_TIMEOUT_MS, "extend", extending).catch(report("a job may expire early"));
  };
  const start = (job: PgBossJob): void => {
    const one = runJob(job).finally(() => {
      running.delete(one);
      if (mayHaveMore) wake();
    });
    running.add(one);
  };

  const fetchJobs = async (batchSize: number): Promise<number> => {
    if (batchSize === 0) return 0;
    const fetching = (async () => boss.fetch(tables.name, { batchSize, includeMetadata: true }))();
    try {
      const jobs = await within(FETCH_TIMEOUT_MS, "pg-boss's fetch", fetching, (arrived) =>
        late.push(...arrived),
      );
      for (const job of jobs) start(job);
      return jobs.length;
    } catch (error) {
      report("the fetch of jobs from pg-boss failed")(error);
      return 0;
    }
  };

  const poll = async (): Promise<void> => {
    while (!isStopped()) {
      for (const job of late.splice(0, concurrency - running.size)) start(job);
      const free = concurrency - running.size;
      mayHaveMore = (await fetchJobs(free)) === free;
      // A job that ended during the fetch called `wake` before the pause, so check for free slots here.
      if (mayHaveMore && running.size < concurrency) continue;
      const awake = new AbortController();
      wake = () => awake.abort();
      if (!isStopped()) await pause(pollIntervalMs, awake.signal);
    }
    await Promise.all(running);
  };
  signal.addEventListener("abort", () => wake());
  const watch = () =>
    reportMissed(tables, options).catch(
      report("the search for unreported dead jobs of pg-boss failed"),
    );
  const stopped = Promise.all([
    poll(),
    repeat(watch, POLLS_PER_WATCH * pollIntervalMs, signal),
  ]).then(() => undefined);
  return {
    async stop({ timeoutMs = Infinity } = {}) {
      stopping.abort();
      const isOver = new AbortController();
      const waits = timeoutMs === Infinity ? [] : [pause(timeoutMs, isOver.signal)];
      await Promise.race([stopped, ...waits]);
      isOver.abort();
    },
  };
}
