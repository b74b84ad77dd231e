import { DeadlineError, within } from "../../deadline.js";
import { hasFailed, type InboxResult, type InboxWorker } from "../inbox-worker.js";
import { JobFailure } from "../job-failure.js";
import { queueErrorOf } from "../queue-error.js";
import type { WorkerLog } from "../worker-log.js";
import type { PgBossJob } from "./client.js";
import { isTakeover, type Verdicts } from "./verdicts.js";

/**
 * Runs one fetched job and writes its verdict. Never rejects; settles at the job's expiry at the latest.
 * `fetchedAtMs`: of `performance.now()`, before the fetch.
 */
export type RunJob = (job: PgBossJob, fetchedAtMs: number) => Promise<void>;

/** pg-boss's own default, for a job whose column cannot be read. */
const DEFAULT_EXPIRY_SECONDS = 900;
const VERDICT_TIMEOUT_MS = 10_000;
const VERDICT_RETRY_MS = 1_000;

/** Makes the run of a job. `stopping` aborts when the worker is stopped. */
export function createRunJob(
  work: InboxWorker,
  verdicts: Verdicts,
  stopping: AbortSignal,
  log: WorkerLog,
): RunJob {
  // One listener for all: a signal warns from the eleventh on.
  const onStop = new Set<() => void>();
  stopping.addEventListener("abort", () => {
    for (const tell of onStop) tell();
  });

  /** Waits, but not for long once the worker is stopped. */
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        onStop.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      onStop.add(end);
    });

  const write = (job: PgBossJob, result: InboxResult): Promise<boolean> => {
    if (!hasFailed(result)) return verdicts.complete(job);
    const delayMs = result.outcome === "retry_later" ? result.retryAfterMs : undefined;
    return verdicts.fail(job, new JobFailure(result.error, delayMs), isTakeover(job));
  };

  /** Again while the database is away and nobody else can have the job: a lost success is a second run. */
  const settle = async (job: PgBossJob, result: InboxResult, expired: AbortSignal) => {
    for (;;) {
      try {
        const written = await within(VERDICT_TIMEOUT_MS, "pg-boss", write(job, result));
        if (!written)
          log("warn", "a job had moved on before its verdict: it may run again", of(job));
        return;
      } catch (thrown) {
        const details = { ...of(job), error: queueErrorOf("pg-boss", thrown) };
        if (expired.aborted || stopping.aborted) {
          log("error", "a verdict could not be written: the job runs again", details);
          return;
        }
        log("warn", "a verdict could not be written yet", details);
        await pause(VERDICT_RETRY_MS);
      }
    }
  };

  return async (job, fetchedAtMs) => {
    // Counted from before the fetch, so that it ends before the engine's own count does.
    const expiryMs = expiryOf(job) - (performance.now() - fetchedAtMs);
    if (expiryMs <= 0) {
      log("error", "a job came after it had expired: the engine runs it again", of(job));
      return;
    }
    const expiry = new AbortController();
    const controller = new AbortController();
    const abort = () => {
      controller.abort(stopping.reason);
    };
    if (stopping.aborted) abort();
    onStop.add(abort);

    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        const error = new DeadlineError("the job", expiryOf(job));
        expiry.abort(error);
        controller.abort(error);
        log("error", "a job has expired: the engine runs it again", { ...of(job), error });
        resolve();
      }, expiryMs);
      const run = { signal: controller.signal, takeover: isTakeover(job) };
      void work(job.data, run)
        .then((result) => settle(job, result, expiry.signal))
        .finally(() => {
          clearTimeout(timer);
          onStop.delete(abort);
          resolve();
        });
    });
  };
}

function expiryOf({ expireInSeconds }: PgBossJob): number {
  const seconds = Number(expireInSeconds);
  return (seconds > 0 ? seconds : DEFAULT_EXPIRY_SECONDS) * 1000;
}

function of({ id }: PgBossJob): { readonly jobId: string } {
  return { jobId: id };
}
