import { DeadlineError, within, pause } from "../../common/timers.js";
import { hasFailed, type InboxRun } from "../inbox-result.js";
import { JobFailure } from "../job-failure.js";
import type { EndedRun, JobRunner } from "../job-runner.js";
import { queueErrorOf } from "../queue-error.js";
import type { PgBossJob } from "./client.js";
import { markReported } from "./dead-job-watch.js";
import { completeJob, failJob, isTakeover, type Written } from "./job-results.js";
import type { PgBossQueue } from "./sql.js";

/** pg-boss's own default, for a job whose column cannot be read. */
const DEFAULT_EXPIRY_SECONDS = 900;
const RESULT_TIMEOUT_MS = 10_000;
const RESULT_RETRY_MS = 1_000;

/** The jobs that a worker runs: runs the handler of each, writes its result and reports it. */
export class RunningJobs {
  readonly #runner: JobRunner;
  readonly #queue: PgBossQueue;
  readonly #stopping: AbortSignal;
  readonly #aborts = new Set<() => void>();

  /** `stopping` aborts when the worker is stopped. */
  constructor(runner: JobRunner, queue: PgBossQueue, stopping: AbortSignal) {
    this.#runner = runner;
    this.#queue = queue;
    this.#stopping = stopping;
    // One listener for all jobs: Node warns from the eleventh listener on.
    stopping.addEventListener("abort", () => {
      for (const abort of this.#aborts) abort();
    });
  }

  /**
   * Runs one fetched job. Never rejects. Settles when the job expires at the latest. `fetchedAtMs` is the
   * time of `performance.now()` before the fetch, so that the expiry here comes before that of pg-boss.
   */
  async run(job: PgBossJob, fetchedAtMs: number): Promise<void> {
    const { log } = this.#runner;
    const remainingMs = expiryMsOf(job) - (performance.now() - fetchedAtMs);
    if (remainingMs <= 0) {
      const line = `a job arrived after it had expired: ${consequenceOfExpiry(job)}`;
      log.error(line, jobDetails(job));
      return;
    }
    const expiry = new AbortController();
    const controller = new AbortController();
    const abort = () => {
      controller.abort(this.#stopping.reason);
    };
    if (this.#stopping.aborted) abort();
    this.#aborts.add(abort);

    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        const error = new DeadlineError("the job", expiryMsOf(job));
        expiry.abort(error);
        controller.abort(error);
        const line = `a job has expired: ${consequenceOfExpiry(job)}`;
        log.error(line, { ...jobDetails(job), error });
        resolve();
      }, remainingMs);
      void this.#runner
        .run(job.data, inboxRunOf(job, controller.signal))
        .then((ended) => this.#finish(job, ended, expiry.signal, controller.signal))
        .finally(() => {
          clearTimeout(timer);
          this.#aborts.delete(abort);
          resolve();
        });
    });
  }

  async #finish(
    job: PgBossJob,
    ended: EndedRun,
    expired: AbortSignal,
    ending: AbortSignal,
  ): Promise<void> {
    const { response, letter } = await this.#writeUntilTaken(job, ended, expired, ending);
    this.#runner.report(ended, response);
    if (letter === undefined) return;
    try {
      await markReported(this.#queue, [letter]);
    } catch (error) {
      const details = { ...jobDetails(job), error: queueErrorOf("pg-boss", error) };
      this.#runner.log.warn("a dead job may be reported once more", details);
    }
  }

  /**
   * Writes a result. While the database is away it tries again, until another worker may have the job. A
   * lost success would cause a second run. `ending`, the job's own signal, aborts when it has expired or the worker
   * is stopped: on the signal of the worker Node would take eleven waiting results for a memory leak.
   */
  async #writeUntilTaken(
    job: PgBossJob,
    ended: EndedRun,
    expired: AbortSignal,
    ending: AbortSignal,
  ): Promise<Written> {
    const { log } = this.#runner;
    for (;;) {
      try {
        const written = await within(RESULT_TIMEOUT_MS, "pg-boss", this.#write(job, ended));
        if (written !== undefined) return written;
        const line = "a job changed its state before its result was written: it may run again";
        log.warn(line, jobDetails(job));
        return { response: "refused" };
      } catch (thrown) {
        const details = { ...jobDetails(job), error: queueErrorOf("pg-boss", thrown) };
        if (expired.aborted || this.#stopping.aborted) {
          log.error(`a result could not be written: ${consequenceOfExpiry(job)}`, details);
          return { response: "refused" };
        }
        log.warn("a result could not be written yet", details);
        await pause(RESULT_RETRY_MS, ending);
      }
    }
  }

  async #write(job: PgBossJob, { result, run }: EndedRun): Promise<Written | undefined> {
    if (!hasFailed(result)) {
      const outcome = result.outcome === "handled" ? "handled" : "discarded";
      return completeJob(this.#queue, job, outcome);
    }
    const delayMs = result.outcome === "retry_later" ? result.retryAfterMs : undefined;
    return failJob(this.#queue, job, new JobFailure(result.error, delayMs), run.takeover);
  }
}

function expiryMsOf({ expireInSeconds }: PgBossJob): number {
  const seconds = Number(expireInSeconds);
  return (seconds > 0 ? seconds : DEFAULT_EXPIRY_SECONDS) * 1000;
}

function inboxRunOf(job: PgBossJob, signal: AbortSignal): InboxRun {
  const waitedMs = Number(new Date(job.startedOn)) - Number(new Date(job.createdOn));
  return {
    signal,
    takeover: isTakeover(job),
    attempt: job.retryCount + 1,
    lastAttempt: isLastAttempt(job),
    // Not negative, and 0 if a date cannot be read.
    waitedMs: waitedMs > 0 ? waitedMs : 0,
    jobId: job.id,
  };
}

function isLastAttempt({ retryCount, retryLimit }: PgBossJob): boolean {
  return retryCount >= retryLimit;
}

function consequenceOfExpiry(job: PgBossJob): string {
  return isLastAttempt(job)
    ? "it was the last attempt, and the engine dead-letters the job"
    : "the engine runs it again";
}

function jobDetails({ id }: PgBossJob): { readonly jobId: string } {
  return { jobId: id };
}
