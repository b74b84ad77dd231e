import { ownOptions } from "../common/option-checks.js";
import { hasFailed, type InboxResult, type InboxRun } from "./inbox-result.js";
import { createJobRunner, type InboxWorkerOptions } from "./job-runner.js";

/**
 * Runs the handler of what an engine hands out. Never rejects. What is not given of the run: no signal, no
 * takeover, attempt 1 and not the last, 0 ms waited, job id "unknown".
 */
export type InboxWorker = (data: unknown, run?: Partial<InboxRun>) => Promise<InboxResult>;

/**
 * Makes the part of a worker that knows no engine: it reads a job, decodes the body as a receiver does
 * and runs the same typed handlers. The bindings are made of it; alone it is for an engine of your own,
 * which has to run a failed job again and to dead-letter it in the end: give `lastAttempt` with the run
 * after which it does, so that the failure is reported as `dead`.
 *
 * @throws ConfigurationError where an option cannot work.
 */
export function inboxWorker(options: InboxWorkerOptions): InboxWorker {
  const own = ownOptions("inboxWorker", options, ["handlers", "onJob", "logger"]);
  const runner = createJobRunner(own, () => "by the means of your engine.");
  return async (data, given = {}) => {
    const { takeover = false, attempt = 1, lastAttempt = false, waitedMs = 0 } = given;
    const { signal = new AbortController().signal, jobId = "unknown" } = given;
    const run = { signal, takeover, attempt, lastAttempt, waitedMs, jobId };
    const ended = await runner.run(data, run);
    runner.report(ended, lastAttempt && hasFailed(ended.result) ? "dead" : "tried_again");
    return ended.result;
  };
}
