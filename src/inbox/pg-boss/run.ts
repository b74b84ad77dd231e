import { DeadlineError, within } from "../../common/timers.js";
import { hasFailed, type InboxRun } from "../inbox-result.js";
import { JobFailure } from "../job-failure.js";
import type { Fate } from "../job-report.js";
import type { EndedRun, JobRunner } from "../job-runner.js";
import { queueErrorOf } from "../queue-error.js";
import { pause } from "../watch.js";
import type { PgBossJob } from "./client.js";
import type { DeadWatch } from "./dead-watch.js";
import { isTakeover, type Results } from "./results.js";

/**
 * Runs one fetched job, writes its result and reports it. Never rejects; settles at the job's expiry at the
 * latest. `fetchedAtMs`: of `performance.now()`, before the fetch.
 */
export type RunJob = (job: PgBossJob, fetchedAtMs: number) => Promise<void>;

/** pg-boss's own default, for a job whose column cannot be read. */
const DEFAULT_EXPIRY_SECONDS = 900;
const RESULT_TIMEOUT_MS = 10_000;
const RESULT_RETRY_MS = 1_000;

/** What the engine made of a result. `letter`: the dead letter of it. */
interface Settled {
  readonly fate: Fate;
  readonly letter?: string | undefined;
}

/** Makes the run of a job. `stopping` aborts when the worker is stopped. */
export function createRunJob(
  { log, run: runHandlerOf, report }: JobRunner,
  results: Results,
  watch: DeadWatch,
  stopping: AbortSignal,
): RunJob {
  // One listener for all: a signal warns from the eleventh on.
  const onStop = new Set<() => void>();
  stopping.addEventListener("abort", () => {
    for (const tell of onStop) tell();
  });

  const write = async (job: PgBossJob, { result, run }: EndedRun): Promise<Settled | undefined> => {
    if (!hasFailed(result)) {
      const outcome = result.outcome === "handled" ? "handled" : "discarded";
      return (await results.complete(job, outcome)) ? { fate: "tried_again" } : undefined;
    }
    const delayMs = result.outcome === "retry_later" ? result.retryAfterMs : undefined;
    const failed = await results.fail(job, new JobFailure(result.error, delayMs), run.takeover);
    if (failed === undefined) return undefined;
    return failed.state === "failed"
      ? { fate: "dead", letter: failed.letter }
      : { fate: "tried_again" };
  };

  /** Again while the database is away and no one else can have the job: a lost success is a second run. */
  const settle = async (
    job: PgBossJob,
    ended: EndedRun,
    expired: AbortSignal,
  ): Promise<Settled> => {
    for (;;) {
      try {
        const settled = await within(RESULT_TIMEOUT_MS, "pg-boss", write(job, ended));
        if (settled !== undefined) return settled;
        log("warn", "a job had moved on before its result: it may run again", of(job));
        return { fate: "unknown" };
      } catch (thrown) {
        const details = { ...of(job), error: queueErrorOf("pg-boss", thrown) };
        if (expired.aborted || stopping.aborted) {
          log("error", `a result could not be written: ${afterExpiry(job)}`, details);
          return { fate: "unknown" };
        }
        log("warn", "a result could not be written yet", details);
        await pause(RESULT_RETRY_MS, stopping);
      }
    }
  };

  const finish = async (job: PgBossJob, ended: EndedRun, expired: AbortSignal): Promise<void> => {
    const { fate, letter } = await settle(job, ended, expired);
    report(ended, fate);
    if (letter === undefined) return;
    try {
      await watch.markReported([letter]);
    } catch (error) {
      const details = { ...of(job), error: queueErrorOf("pg-boss", error) };
      log("warn", "a dead job may be reported once more", details);
    }
  };

  return async (job, fetchedAtMs) => {
    // Counted from before the fetch, so that it ends before the engine's own count does.
    const expiryMs = expiryOf(job) - (performance.now() - fetchedAtMs);
    if (expiryMs <= 0) {
      log("error", `a job came after it had expired: ${afterExpiry(job)}`, of(job));
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
        log("error", `a job has expired: ${afterExpiry(job)}`, { ...of(job), error });
        resolve();
      }, expiryMs);
      void runHandlerOf(job.data, runOf(job, controller.signal))
        .then((ended) => finish(job, ended, expiry.signal))
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

function runOf(job: PgBossJob, signal: AbortSignal): InboxRun {
  const waitedMs = Number(new Date(job.startedOn)) - Number(new Date(job.createdOn));
  return {
    signal,
    takeover: isTakeover(job),
    attempt: job.retryCount + 1,
    lastAttempt: isLast(job),
    waitedMs: waitedMs > 0 ? waitedMs : 0,
    jobId: job.id,
  };
}

function isLast({ retryCount, retryLimit }: PgBossJob): boolean {
  return retryCount >= retryLimit;
}

function afterExpiry(job: PgBossJob): string {
  return isLast(job)
    ? "it was the last attempt, and the engine dead-letters the job"
    : "the engine runs it again";
}

function of({ id }: PgBossJob): { readonly jobId: string } {
  return { jobId: id };
}
