import { ConfigurationError } from "../../configuration-error.js";
import { within } from "../../deadline.js";
import { guarded } from "../../guarded.js";
import { refuseUnknownOptions } from "../../known-options.js";
import { createRunning } from "../../running.js";
import { checkQueueName } from "../client-methods.js";
import { hasFailed, inboxWorker, type InboxWorkerOptions } from "../inbox-worker.js";
import { JobFailure } from "../job-failure.js";
import { queueErrorOf } from "../queue-error.js";
import { RETRY_OPTIONS } from "../retry-options.js";
import { createWorkerLog } from "../worker-log.js";
import { backoffDelay } from "./backoff.js";
import type { BullmqProcessor, BullmqWorkerClass } from "./client.js";

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

/** How long BullMQ may take to write the last verdicts and to close its connections. */
const CLOSE_TIMEOUT_MS = 10_000;
/** BullMQ reports each attempt to reach a Redis that is away. */
const SAME_ERROR_MS = 60_000;

/**
 * Works a queue of BullMQ with the typed handlers of a receiver. A handler that throws makes BullMQ try
 * the job again, and put it among the failed ones, the dead letters, at its limit; `RetryLater` does so
 * in its own time; `DiscardDelivery` completes the job. A job runs at least once: where a worker crashes
 * it runs again once its lock has ended, with `context.takeover`. `context.signal` aborts when the lock is lost
 * and when the worker is stopped. Another worker than this one knows no delay for the jobs.
 *
 * Returns the function that stops it: no further job is taken, and its promise resolves when the running
 * ones have settled; where Redis is away then, BullMQ is given 10 seconds. It never rejects.
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function bullmqConsume<Options extends object>(
  options: BullmqConsumeOptions<Options>,
): () => Promise<void> {
  if (typeof options !== "object" || (options as unknown) === null) {
    throw new ConfigurationError("invalid_options", "bullmqConsume takes an options object");
  }
  refuseUnknownOptions(options, ["Worker", "queue", "workerOptions", "handlers", "logger"]);
  const { Worker, queue, workerOptions, handlers, logger } = options;
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
  const work = inboxWorker({ handlers, logger });
  const log = createWorkerLog(logger);
  const running = new Map<string, AbortController>();
  const handlersRunning = createRunning();
  let stopped: Promise<void> | undefined;

  const process: BullmqProcessor = async (job) => {
    const { id = "", data, stalledCounter = 0 } = job;
    const controller = new AbortController();
    running.set(id, controller);
    handlersRunning.enter();
    if (stopped !== undefined) controller.abort(stopReason());
    try {
      const result = await work(data, { signal: controller.signal, takeover: stalledCounter > 0 });
      if (!hasFailed(result)) return;
      const delayMs = result.outcome === "retry_later" ? result.retryAfterMs : undefined;
      throw new JobFailure(result.error, delayMs);
    } finally {
      handlersRunning.leave();
      // After a lost lock another run of the same job may have taken the place.
      if (running.get(id) === controller) running.delete(id);
    }
  };

  const { settings } = workerOptions as { readonly settings?: object };
  const worker = new Worker(queue, process, {
    maxStalledCount: RETRY_OPTIONS.retryLimit.fallback,
    ...workerOptions,
    settings: { ...settings, backoffStrategy: backoffDelay },
  });
  const isNews = createNews();
  worker.on("error", (error) => {
    if (!isNews(error)) return;
    log("error", "BullMQ's worker reports an error", { error: queueErrorOf("BullMQ", error) });
  });
  worker.on("lockRenewalFailed", (ids) => {
    const reason = new Error("the lock on the job is lost: another worker may be running it");
    for (const id of ids) running.get(id)?.abort(reason);
  });

  /** In order, with no end to how long a handler may take, but with one to what Redis may. */
  const closeWorker = async (): Promise<void> => {
    const closed = Promise.resolve(worker.close());
    closed.catch(() => undefined);
    for (;;) {
      await handlersRunning.idle();
      try {
        await within(CLOSE_TIMEOUT_MS, "the end of BullMQ's worker", closed);
        return;
      } catch (error) {
        // A job that was on its way when the worker was stopped.
        if (running.size === 0) throw error;
      }
    }
  };

  const stop = async (): Promise<void> => {
    for (const controller of running.values()) controller.abort(stopReason());
    try {
      await closeWorker();
    } catch (error) {
      log("error", "BullMQ's worker could not be closed in order: its last jobs may run again", {
        error: queueErrorOf("BullMQ", error),
      });
      guarded(() => worker.disconnect());
    }
  };
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

function stopReason(): Error {
  return new Error("the worker is being stopped");
}
