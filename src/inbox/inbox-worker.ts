import { ownOptions } from "../common/option-checks.js";
import { hasFailed, type InboxResult, type InboxRun } from "./inbox-result.js";
import { JobRunner, WORKER_OPTION_NAMES, type InboxWorkerOptions } from "./job-runner.js";

/**
 * Runs the handler for the data of one job. Never rejects. Defaults of `run`: no abort signal, no
 * takeover, attempt 1, not the last attempt, 0 ms waited, job id "unknown".
 */
export type InboxWorker = (data: unknown, run?: Partial<InboxRun>) => Promise<InboxResult>;

/**
 * Makes the worker for a queue engine other than pg-boss and BullMQ. It reads a job, decodes the body as a
 * receiver does and runs the same typed handlers. Your engine must run a failed job again, until it gives
 * the job up. Pass `lastAttempt: true` with the last run, so that its failure is reported as `dead`.
 *
 * @example
 * ```ts
 * const work = inboxWorker({ handlers: { new_alarm: (alarm) => openTicket(alarm) } });
 *
 * for await (const job of yourQueue) {
 *   const lastAttempt = job.attempt === 10;
 *   const { outcome } = await work(job.data, { attempt: job.attempt, lastAttempt });
 *   const isDone = ["handled", "unhandled", "discarded"].includes(outcome);
 *   await (isDone ? job.complete() : job.retry());
 * }
 * ```
 *
 * @throws ConfigurationError if an option is invalid.
 */
export function inboxWorker(options: InboxWorkerOptions): InboxWorker {
  const own = ownOptions("inboxWorker", options, WORKER_OPTION_NAMES);
  const runner = new JobRunner(own, () => "by the means of your engine.");
  return async (data, given = {}) => {
    const { takeover = false, attempt = 1, lastAttempt = false, waitedMs = 0 } = given;
    const { signal = new AbortController().signal, jobId = "unknown" } = given;
    const run = { signal, takeover, attempt, lastAttempt, waitedMs, jobId };
    const ended = await runner.run(data, run);
    runner.report(ended, lastAttempt && hasFailed(ended.result) ? "dead" : "accepted");
    return ended.result;
  };
}
