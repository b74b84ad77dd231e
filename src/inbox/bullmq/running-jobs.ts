import { hasCode } from "../../common/errors.js";
import { within, pause } from "../../common/timers.js";
import { InFlightCount } from "../../common/in-flight-count.js";
import { finishedJobOf, jobNameOf } from "../inbox-job.js";
import { hasFailed, type InboxResult, type InboxRun } from "../inbox-result.js";
import { jobLockLost, JobFailure, workerStopping } from "../job-failure.js";
import { deliveryIdOfBullmqJob } from "../job-id.js";
import type { EngineResponse } from "../job-report.js";
import type { EndedRun, JobRunner } from "../job-runner.js";
import { queueErrorOf } from "../queue-error.js";
import type { BullmqJob } from "./client.js";

/** How often the removal of a body is tried while Redis refuses it. */
const REMOVE_TRIES = 10;
const WRITE_TIMEOUT_MS = 4_000;
const REMOVE_RETRY_MS = 1_000;

/** The jobs that a worker runs: runs the handler of each, and reports it when BullMQ has its result. */
export class RunningJobs {
  readonly #runner: JobRunner;
  readonly #lockDurationMs: number;
  readonly #forgetFailures: (jobId: string) => Promise<unknown>;
  readonly #controllers = new Map<string, AbortController>();
  /** Failed runs that BullMQ has not written yet. */
  readonly #unwritten = new Map<string, EndedRun>();
  readonly #handlers = new InFlightCount();
  #isStopped = false;

  /**
   * `forgetFailures` removes the messages of earlier failures from a job. BullMQ keeps them with a
   * completed job.
   */
  constructor(
    runner: JobRunner,
    lockDurationMs: number,
    forgetFailures: (jobId: string) => Promise<unknown>,
  ) {
    this.#runner = runner;
    this.#lockDurationMs = lockDurationMs;
    this.#forgetFailures = forgetFailures;
  }

  /** BullMQ's processor. Rejects with `JobFailure` if BullMQ must fail the job. */
  async process(job: BullmqJob, token = ""): Promise<void> {
    const { id = "" } = job;
    await this.#keepLock(job, token);
    const controller = new AbortController();
    const { signal } = controller;
    this.#reportUnwritten(id, "refused");
    this.#controllers.set(id, controller);
    this.#handlers.enter();
    if (this.#isStopped) controller.abort(workerStopping());
    try {
      const ended = await this.#runner.run(job.data, inboxRunOf(job, signal)).finally(() => {
        this.#handlers.leave();
      });
      if (!hasFailed(ended.result)) {
        await this.#removeBody(job, ended.result, signal);
        this.#runner.report(ended, "accepted");
        return;
      }
      // BullMQ refuses the result of a run that has lost its lock, and emits no event for it.
      if (hasCode(signal.reason, "job_lock_lost")) this.#runner.report(ended, "refused");
      else this.#unwritten.set(id, ended);
      const { result } = ended;
      const delayMs = result.outcome === "retry_later" ? result.retryAfterMs : undefined;
      throw new JobFailure(result.error, delayMs);
    } finally {
      // After a lost lock, another run of the same job may have replaced the controller.
      if (this.#controllers.get(id) === controller) this.#controllers.delete(id);
    }
  }

  /** Reports a failure that BullMQ has written. Returns whether the job is dead. */
  failed({ id = "", data, attemptsMade, finishedOn }: BullmqJob, { message }: Error): boolean {
    const isDead = finishedOn !== undefined;
    if (!this.#reportUnwritten(id, isDead ? "dead" : "accepted") && isDead) {
      this.#runner.reportGivenUp(data, deliveryIdOfBullmqJob(id), attemptsMade, message);
    }
    return isDead;
  }

  /** Aborts the signals of jobs whose locks are lost. */
  lockLost(jobIds: readonly string[]): void {
    const reason = jobLockLost();
    for (const id of jobIds) this.#controllers.get(id)?.abort(reason);
  }

  /** Aborts the signals of all jobs, also of those that still start. */
  stop(): void {
    this.#isStopped = true;
    for (const controller of this.#controllers.values()) {
      controller.abort(workerStopping());
    }
  }

  /** Reports the failures that BullMQ has not written. Call it when BullMQ has stopped. */
  flush(): void {
    for (const id of [...this.#unwritten.keys()]) this.#reportUnwritten(id, "refused");
  }

  isEmpty(): boolean {
    return this.#controllers.size === 0;
  }

  /** Resolves when no handler runs. */
  idle(): Promise<unknown> {
    return this.#handlers.waitUntilIdle(Infinity);
  }

  /**
   * Renews the lock of a job that arrived late, because the network or a pause of the process held it
   * back. Rejects if the lock is lost: another worker runs the job, and BullMQ refuses a result of this one.
   */
  async #keepLock(job: BullmqJob, token: string): Promise<void> {
    // BullMQ renews locks at half of their duration, so a younger lock outlives the first renewal.
    if (Date.now() - (job.processedOn ?? 0) < this.#lockDurationMs / 2) return;
    const details = { id: deliveryIdOfBullmqJob(job.id ?? ""), type: jobNameOf(job.data).type };
    try {
      const renewing = job.extendLock(token, this.#lockDurationMs);
      if ((await within(WRITE_TIMEOUT_MS, "BullMQ's renewal of a lock", renewing)) > 0) return;
    } catch (thrown) {
      const error = queueErrorOf("BullMQ", thrown);
      this.#runner.log.error("the lock of a late job could not be renewed: the job runs later", {
        ...details,
        error,
      });
      throw new JobFailure(error);
    }
    const line = "a job arrived after its lock had expired: it is left to another worker";
    this.#runner.log.error(line, details);
    throw new JobFailure(jobLockLost());
  }

  #reportUnwritten(id: string, response: EngineResponse): boolean {
    const ended = this.#unwritten.get(id);
    if (ended === undefined) return false;
    this.#unwritten.delete(id);
    this.#runner.report(ended, response);
    return true;
  }

  /**
   * Replaces the data of a finished job, before BullMQ completes it. If this worker crashes in between, the
   * next worker sees that the handler has finished and completes the job without it.
   */
  async #removeBody(job: BullmqJob, result: InboxResult, signal: AbortSignal): Promise<void> {
    const finished = finishedJobOf(
      job.data,
      result.outcome === "handled" ? "handled" : "discarded",
    );
    for (let tries = 1; ; tries += 1) {
      try {
        await within(WRITE_TIMEOUT_MS, "BullMQ's write of a job", job.updateData(finished));
        const { id = "", attemptsMade } = job;
        if (attemptsMade === 0) return;
        await within(WRITE_TIMEOUT_MS, "Redis's write of a job", this.#forgetFailures(id));
        return;
      } catch (thrown) {
        if (tries < REMOVE_TRIES && !signal.aborted) {
          await pause(REMOVE_RETRY_MS, signal);
          continue;
        }
        const error = queueErrorOf("BullMQ", thrown);
        const line = "the body of a finished job could not be removed from Redis";
        this.#runner.log.error(line, { id: finished.id, type: finished.type, error });
        return;
      }
    }
  }
}

function inboxRunOf(job: BullmqJob, signal: AbortSignal): InboxRun {
  const { id = "", stalledCounter = 0, attemptsMade, attemptsStarted = 0, timestamp } = job;
  const attempt = attemptsMade + 1;
  return {
    signal,
    // BullMQ counts the result of every start as an attempt, unless the worker crashed. A replay resets
    // only the attempts.
    takeover: stalledCounter > 0 || attemptsStarted > attempt,
    attempt,
    lastAttempt: attempt >= (job.opts.attempts ?? 0),
    waitedMs: Math.max(0, (job.processedOn ?? Date.now()) - timestamp),
    jobId: deliveryIdOfBullmqJob(id),
  };
}
