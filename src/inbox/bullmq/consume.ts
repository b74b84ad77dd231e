import { ConfigurationError } from "../../common/errors.js";
import { within } from "../../common/timers.js";
import { ignoreFailure } from "../../common/promises.js";
import { ownOptions } from "../../common/option-checks.js";
import { checkQueueName } from "../client-methods.js";
import { createJobRunner, type InboxWorkerOptions } from "../job-runner.js";
import { queueErrorOf } from "../queue-error.js";
import { RETRY_OPTIONS } from "../retry-options.js";
import { repeat } from "../watch.js";
import { backoffDelay } from "./backoff.js";
import type { BullmqWorkerClass } from "./client.js";
import { createDeadWatch } from "./dead-watch.js";
import { redisOf } from "./redis.js";
import { createRuns } from "./run.js";

/** Options of `bullmqConsume`. */
export interface BullmqConsumeOptions<Options extends object> extends InboxWorkerOptions {
  /** The class `Worker` of `bullmq`. Its options are checked against those given below. */
  Worker: BullmqWorkerClass<NoInfer<Options>>;
  /** The name of the queue that `bullmqEnqueue` was given. */
  queue: string;
  /**
   * BullMQ's own options of the worker: `connection`, `concurrency` (BullMQ's default is 1),
   * `lockDuration` and so on. `maxStalledCount`, how many crashed workers a job survives, is 14 here
   * and not 1: at BullMQ's default a second deploy in the middle of a job would dead-letter it.
   */
  workerOptions: Options;
}

/** How long BullMQ may take to write the last results and to close its connections. */
const CLOSE_TIMEOUT_MS = 10_000;
/** BullMQ reports each attempt to reach a Redis that is away. */
const SAME_ERROR_MS = 60_000;
/** How often failed jobs that no worker has reported are looked for: BullMQ's default of `stalledInterval`. */
const LOOK_INTERVAL_MS = 30_000;
const MAX_GRACE_MS = 10_000;
const OPTION_NAMES = ["Worker", "queue", "workerOptions", "handlers", "onJob", "logger"];

/**
 * Works a queue of BullMQ with the typed handlers of a receiver. A handler that throws makes BullMQ try
 * the job again, and put it among the failed ones, the dead letters, at its limit; `RetryLater` does so
 * in its own time; `DiscardDelivery` completes the job. A job runs at least once: where a worker crashes
 * it runs again once its lock has ended, with `context.takeover`. `context.signal` aborts when the lock is lost
 * and when the worker is stopped. Another worker than this one knows no delay for the jobs.
 *
 * A job that is done with keeps its id and loses its body. One that is dead is reported to `onJob` and the log
 * by the worker that fails it. A worker that crashes at that moment cannot: the others look for dead jobs that
 * were not reported, every `stalledInterval` (default 30 000 ms), so each is reported at least once.
 *
 * Returns the function that stops it: no further job is taken, and its promise resolves when the running
 * ones have settled; where Redis is away then, BullMQ is given 10 seconds. It never rejects.
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function bullmqConsume<Options extends object>(
  options: BullmqConsumeOptions<Options>,
): () => Promise<void> {
  const { Worker, queue, workerOptions, ...own } = ownOptions(
    "bullmqConsume",
    options,
    OPTION_NAMES,
  );
  if (typeof Worker !== "function") {
    throw new ConfigurationError(
      "invalid_option",
      "Worker has to be the class of that name of bullmq",
    );
  }
  checkQueueName("queue", queue);
  if (typeof workerOptions !== "object" || (workerOptions as unknown) === null) {
    const rule = "workerOptions has to hold the connection of the worker";
    throw new ConfigurationError("invalid_option", rule);
  }
  const runner = createJobRunner(
    own,
    (id) => `deadDeliveries({ queue }).replay([${JSON.stringify(id)}])`,
  );
  const { log } = runner;
  const runs = createRuns(runner, async (jobId) => {
    const redis = await redisOf(worker);
    return redis.hdel(worker.toKey(jobId), "failedReason", "stacktrace");
  });

  const { settings, stalledInterval } = workerOptions as {
    readonly settings?: object;
    readonly stalledInterval?: number;
  };
  const worker = new Worker(queue, runs.process, {
    maxStalledCount: RETRY_OPTIONS.retryLimit.fallback,
    ...workerOptions,
    settings: { ...settings, backoffStrategy: backoffDelay },
  });
  const isNews = createNews();
  const reportError = (error: unknown): void => {
    const known = queueErrorOf("BullMQ", error);
    if (isNews(known)) log("error", "BullMQ's worker reports an error", { error: known });
  };
  worker.on("error", reportError);
  worker.on("lockRenewalFailed", runs.lockLost);

  const stopping = new AbortController();
  const intervalMs = stalledInterval ?? LOOK_INTERVAL_MS;
  const watch = createDeadWatch(
    worker,
    Math.min(2 * intervalMs, MAX_GRACE_MS),
    runner.reportGivenUp,
    stopping.signal,
  );
  worker.on("failed", (job, error) => {
    if (job === undefined || !runs.failed(job, error)) return;
    const { id = "", finishedOn = 0 } = job;
    watch.markReported(id, finishedOn).catch(reportError);
  });
  const watching = repeat(() => watch.look().catch(reportError), intervalMs, stopping.signal);

  /** In order, with no end to how long a handler may take, but with one to what Redis may. */
  const closeWorker = async (): Promise<void> => {
    const closed = Promise.all([worker.close(), watching]);
    closed.catch(() => undefined);
    for (;;) {
      await runs.idle();
      try {
        await within(CLOSE_TIMEOUT_MS, "the end of BullMQ's worker", closed);
        return;
      } catch (error) {
        // A job that was on its way when the worker was stopped.
        if (runs.size() === 0) throw error;
      }
    }
  };

  const stop = async (): Promise<void> => {
    stopping.abort();
    runs.stop();
    try {
      await closeWorker();
    } catch (error) {
      log("error", "BullMQ's worker could not be closed in order: its last jobs may run again", {
        error: queueErrorOf("BullMQ", error),
      });
      void ignoreFailure(() => worker.disconnect());
    }
    runs.flush();
  };
  let stopped: Promise<void> | undefined;
  return () => (stopped ??= stop());
}

/** Whether an error is another than the last one, or a minute old. */
function createNews(): (error: Error) => boolean {
  let last = { message: "", at: Number.NEGATIVE_INFINITY };
  return ({ message }) => {
    const at = performance.now();
    if (message === last.message && at - last.at < SAME_ERROR_MS) return false;
    last = { message, at };
    return true;
  };
}
