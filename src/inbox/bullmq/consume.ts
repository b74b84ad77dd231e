import { invalidOption } from "../../common/errors.js";
import { within, repeat } from "../../common/timers.js";
import { ignoreFailure } from "../../common/promises.js";
import { JobRunner, WORKER_OPTION_NAMES, type InboxWorkerOptions } from "../job-runner.js";
import { queueErrorOf } from "../queue-error.js";
import {
  checkQueueName,
  DEFAULT_QUEUE_NAME,
  ownQueueOptions,
  RETRY_OPTIONS,
} from "../queue-options.js";
import { checkWorkerClass, redisOf, type BullmqWorkerClass } from "./client.js";
import { DeadJobWatch } from "./dead-job-watch.js";
import { backoffDelay } from "./job-options.js";
import { RunningJobs } from "./running-jobs.js";

/** Options of `bullmqConsume`. */
export interface BullmqConsumeOptions<Options extends object> extends InboxWorkerOptions {
  /** The class `Worker` of `bullmq`. */
  Worker: BullmqWorkerClass<NoInfer<Options>>;
  /** The name of the `Queue` that `bullmqEnqueue` was given. Default `"gateway-deliveries"`. */
  queueName?: string | undefined;
  /**
   * BullMQ's own worker options, typed by `Worker`: `connection` (required), `concurrency` (BullMQ's
   * default is 1), `lockDuration` and so on. `maxStalledCount` says how many crashes of its worker a job
   * survives; its default is 14 here. With BullMQ's default of 1, two deploys during one job would
   * dead-letter it.
   */
  workerOptions: Options;
}

/** How long BullMQ may take to write the last results and to close its connections. */
const CLOSE_TIMEOUT_MS = 10_000;
/** BullMQ emits an error for each failed attempt to connect. The same error is logged once per minute. */
const SAME_ERROR_MS = 60_000;
/** How often workers look for unreported dead jobs: BullMQ's default of `stalledInterval`. */
const WATCH_INTERVAL_MS = 30_000;
const MAX_GRACE_MS = 10_000;
/** BullMQ's default of `lockDuration`. */
const LOCK_DURATION_MS = 30_000;
const OPTION_NAMES = [...WORKER_OPTION_NAMES, "Worker", "queueName", "workerOptions"];

/**
 * Handles the jobs of a BullMQ queue with the typed handlers of a receiver.
 *
 * If a handler throws, BullMQ runs the job again. After the last attempt the job is dead: it stays among
 * the failed jobs. `RetryLater` sets the delay of the next run. `DiscardDelivery` completes the job. A job
 * runs at least once: after a crash of its worker it runs again when its lock has expired, with
 * `context.takeover`. `context.signal` aborts when the lock is lost and when the worker is stopped. Use no
 * other worker on the queue: the delays of the jobs need the backoff strategy of `bullmqConsume`.
 *
 * A finished job keeps its id and loses its body. The worker that fails a job for good reports it to
 * `onJob` and the log. If it crashes at that moment, another worker does: all look for unreported dead jobs
 * every `stalledInterval` (default 30 000 ms), so each dead job is reported at least once.
 *
 * Returns a function that stops the worker: it takes no further jobs. The promise of the function resolves
 * when the running jobs have settled, and never rejects. If Redis is away then, BullMQ gets 10 seconds.
 *
 * @example
 * ```ts
 * const stop = bullmqConsume({
 *   Worker,
 *   workerOptions: { connection, concurrency: 10 },
 *   handlers: { new_alarm: (alarm, { id }) => openTicket(id, alarm) },
 *   onJob: ({ outcome, id }) => outcome === "dead" && alertOperators(id),
 * });
 * process.once("SIGTERM", () => void stop().then(() => queue.close()));
 * ```
 *
 * @throws ConfigurationError if an option is invalid, and for a bullmq that cannot work.
 */
export function bullmqConsume<Options extends object>(
  options: BullmqConsumeOptions<Options>,
): () => Promise<void> {
  const own = ownQueueOptions("bullmqConsume", options, OPTION_NAMES);
  const { Worker, queueName = DEFAULT_QUEUE_NAME, workerOptions, ...rest } = own;
  if (typeof Worker !== "function") {
    throw invalidOption("Worker must be the class Worker of bullmq");
  }
  checkWorkerClass(Worker);
  checkQueueName("queueName", queueName);
  if (typeof workerOptions !== "object" || (workerOptions as unknown) === null) {
    throw invalidOption("workerOptions must be an object with the connection of the worker");
  }
  const runner = new JobRunner(
    rest,
    (id) => `bullmqDeadDeliveries({ queue }).replay([${JSON.stringify(id)}])`,
    queueName,
  );
  const { log } = runner;
  const {
    settings,
    stalledInterval,
    lockDuration = LOCK_DURATION_MS,
  } = workerOptions as {
    readonly settings?: object;
    readonly stalledInterval?: number;
    readonly lockDuration?: number;
  };
  const jobs: RunningJobs = new RunningJobs(runner, lockDuration, async (jobId) => {
    const redis = await redisOf(worker);
    return redis.hdel(worker.toKey(jobId), "failedReason", "stacktrace");
  });
  const worker = new Worker(queueName, (job, token) => jobs.process(job, token), {
    maxStalledCount: RETRY_OPTIONS.retryLimit.fallback,
    ...workerOptions,
    settings: { ...settings, backoffStrategy: backoffDelay },
  });
  const repetitions = new RepetitionFilter();
  const reportError = (error: unknown): void => {
    const known = queueErrorOf("BullMQ", error);
    if (repetitions.isNew(known)) log.error("BullMQ's worker reports an error", { error: known });
  };
  worker.on("error", reportError);
  worker.on("lockRenewalFailed", (jobIds) => {
    jobs.lockLost(jobIds);
  });

  const stopping = new AbortController();
  const intervalMs = stalledInterval ?? WATCH_INTERVAL_MS;
  const graceMs = Math.min(2 * intervalMs, MAX_GRACE_MS);
  const deadJobs = new DeadJobWatch(worker, graceMs, runner);
  worker.on("failed", (job, error) => {
    if (job === undefined || !jobs.failed(job, error)) return;
    const { id = "", finishedOn = 0 } = job;
    deadJobs.markReported(id, finishedOn).catch(reportError);
  });
  const reportMissed = () => deadJobs.reportMissed(stopping.signal).catch(reportError);
  const watching = repeat(reportMissed, intervalMs, stopping.signal);

  /** Waits for the handlers as long as they take, and after that a limited time for Redis. */
  const closeWorker = async (): Promise<void> => {
    const closed = Promise.all([worker.close(), watching]);
    closed.catch(() => undefined);
    for (;;) {
      await jobs.idle();
      try {
        await within(CLOSE_TIMEOUT_MS, "the end of BullMQ's worker", closed);
        return;
      } catch (error) {
        // A job may have started after the worker was stopped. Then wait for it too.
        if (jobs.isEmpty()) throw error;
      }
    }
  };

  const stop = async (): Promise<void> => {
    stopping.abort();
    jobs.stop();
    try {
      await closeWorker();
    } catch (error) {
      const line = "BullMQ's worker could not be closed in order: its last jobs may run again";
      log.error(line, { error: queueErrorOf("BullMQ", error) });
      void ignoreFailure(() => worker.disconnect());
    }
    jobs.flush();
  };
  let stopped: Promise<void> | undefined;
  return () => (stopped ??= stop());
}

/** Tells new errors from repetitions of the last one. */
class RepetitionFilter {
  #message = "";
  #at = Number.NEGATIVE_INFINITY;

  /** False for the same message within a minute. */
  isNew({ message }: Error): boolean {
    const now = performance.now();
    if (message === this.#message && now - this.#at < SAME_ERROR_MS) return false;
    this.#message = message;
    this.#at = now;
    return true;
  }
}
