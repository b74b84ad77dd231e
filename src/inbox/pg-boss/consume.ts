import { integerOptions } from "../../common/option-checks.js";
import { repeat } from "../../common/timers.js";
import { workerStopping } from "../job-failure.js";
import { JobRunner, WORKER_OPTION_NAMES, type InboxWorkerOptions } from "../job-runner.js";
import { queueErrorOf } from "../queue-error.js";
import { DEFAULT_QUEUE_NAME, ownQueueOptions } from "../queue-options.js";
import type { PgBossConsumer } from "./client.js";
import { reportMissed } from "./dead-job-watch.js";
import { pollQueue } from "./poll.js";
import { RunningJobs } from "./running-jobs.js";
import { queueOf } from "./sql.js";

/** Options of `pgBossConsume`. */
export interface PgBossConsumeOptions extends InboxWorkerOptions {
  /**
   * A started `PgBoss` of pg-boss 10. At least one PgBoss on the database must have `supervise` on, which
   * is the default.
   */
  boss: PgBossConsumer;
  /** The queue's name, as given to `pgBossEnqueue`. Default `"gateway-deliveries"`. */
  queueName?: string | undefined;
  /** How many jobs run at the same time. From 1 to 1 000, default 10. */
  concurrency?: number | undefined;
  /** How long to wait before polling an empty queue again, in milliseconds. From 100 to 600 000, default 1 000. */
  pollIntervalMs?: number | undefined;
  /** The schema that the PgBoss uses. Default `"pgboss"`. */
  schema?: string | undefined;
}

const INTEGER_OPTIONS = {
  concurrency: { fallback: 10, min: 1, max: 1_000 },
  pollIntervalMs: { fallback: 1_000, min: 100, max: 600_000 },
};
const OPTION_NAMES = [
  ...WORKER_OPTION_NAMES,
  ...Object.keys(INTEGER_OPTIONS),
  "boss",
  "queueName",
  "schema",
];
/** How many poll intervals lie between two searches for unreported dead jobs. */
const POLLS_PER_WATCH = 10;

/**
 * Handles the jobs of a pg-boss queue with the typed handlers of a receiver.
 *
 * If a handler throws, pg-boss runs the job again, and dead-letters it after the last attempt.
 * `RetryLater` sets the delay of the next run. `DiscardDelivery` completes the job. A job runs at least
 * once: after a crash of its worker it runs again when it has expired, with `context.takeover`.
 * `context.signal` aborts when the job expires and when the worker is stopped.
 *
 * A finished job keeps its id and loses its body. The worker that fails a job for good reports it to
 * `onJob` and the log. A job that expires on its last attempt is failed by pg-boss itself, so the workers
 * look for unreported dead jobs every 10 polls. Each dead job is reported at least once. If a handler ends
 * after its job has expired, its run is reported then.
 *
 * Returns a function that stops the worker: it fetches no further jobs. The promise of the function
 * resolves when the running jobs have settled or expired, and never rejects. For a database that does not
 * answer it waits up to 10 seconds. Stop the worker before the PgBoss.
 *
 * @example
 * ```ts
 * const stop = pgBossConsume({
 *   boss,
 *   handlers: { new_alarm: (alarm, { id }) => openTicket(id, alarm) },
 *   onJob: ({ outcome, id }) => outcome === "dead" && alertOperators(id),
 * });
 * process.once("SIGTERM", () => void stop().then(() => boss.stop()));
 * ```
 *
 * @throws ConfigurationError if an option is invalid, and (`unsupported_version`) for a PgBoss of pg-boss 11
 * or later.
 */
export function pgBossConsume(options: PgBossConsumeOptions): () => Promise<void> {
  const own = ownQueueOptions("pgBossConsume", options, OPTION_NAMES);
  const { boss, handlers, onJob, logger, telemetry } = own;
  const queue = queueOf(own, ["fetch", "getDb"]);
  const { name: queueName } = queue;
  const polling = integerOptions(own, INTEGER_OPTIONS);
  const nameArgument =
    queueName === DEFAULT_QUEUE_NAME ? "" : `, queueName: ${JSON.stringify(queueName)}`;
  const runner = new JobRunner(
    { handlers, onJob, logger, telemetry },
    (id) => `pgBossDeadDeliveries({ boss${nameArgument} }).replay([${JSON.stringify(id)}])`,
    queueName,
  );

  const { log } = runner;
  const stopping = new AbortController();
  const jobs = new RunningJobs(runner, queue, stopping.signal);
  const polled = pollQueue(
    (batchSize) => boss.fetch(queueName, { batchSize, includeMetadata: true }),
    (job, fetchedAtMs) => jobs.run(job, fetchedAtMs),
    polling,
    stopping.signal,
    log,
  );
  const watch = () =>
    reportMissed(queue, runner).catch((error: unknown) => {
      const line = "the search for unreported dead jobs of pg-boss failed";
      log.error(line, { error: queueErrorOf("pg-boss", error) });
    });
  const watched = repeat(watch, POLLS_PER_WATCH * polling.pollIntervalMs, stopping.signal);
  const stopped = Promise.all([polled, watched]).then(() => undefined);
  return () => {
    stopping.abort(workerStopping());
    return stopped;
  };
}
