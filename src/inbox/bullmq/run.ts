import { within } from "../../common/timers.js";
import { InFlightCount } from "../../common/in-flight-count.js";
import { doneJobOf, jobNameOf } from "../inbox-job.js";
import { hasFailed, type InboxResult, type InboxRun } from "../inbox-result.js";
import { JobFailure } from "../job-failure.js";
import { DeadJobError, type Fate } from "../job-report.js";
import type { EndedRun, JobRunner } from "../job-runner.js";
import { queueErrorOf, wordsOfText } from "../queue-error.js";
import { JobLockLostError, WorkerStoppingError } from "../stop-reasons.js";
import { pause } from "../watch.js";
import type { BullmqJob, BullmqProcessor } from "./client.js";
import { deliveryIdOf } from "./job-id.js";

/** The runs of one worker. */
export interface Runs {
  readonly process: BullmqProcessor;
  /** BullMQ has written a failure: reports it. True where the job is dead. */
  readonly failed: (job: BullmqJob, error: Error) => boolean;
  readonly lockLost: (jobIds: readonly string[]) => void;
  readonly stop: () => void;
  /** Reports the failures that BullMQ has not taken. */
  readonly flush: () => void;
  readonly size: () => number;
  /** Resolves when no handler runs. */
  readonly idle: () => Promise<unknown>;
}

/** How often the body of a job that is done with is taken out again, where Redis refuses. */
const DROP_TRIES = 10;
const DROP_TIMEOUT_MS = 4_000;
const DROP_RETRY_MS = 1_000;

/**
 * Makes the processor of a worker, and what belongs to its running jobs. `forgetFailures` removes from a job
 * what its earlier runs failed with, of which BullMQ keeps the message.
 */
export function createRuns(
  runner: JobRunner,
  forgetFailures: (jobId: string) => Promise<unknown>,
): Runs {
  const running = new Map<string, AbortController>();
  /** Failures that BullMQ has not written yet. */
  const unwritten = new Map<string, EndedRun>();
  const handlersRunning = new InFlightCount();
  let isStopped = false;

  const reportUnwritten = (id: string, fate: Fate): boolean => {
    const ended = unwritten.get(id);
    if (ended === undefined) return false;
    unwritten.delete(id);
    runner.report(ended, fate);
    return true;
  };

  /**
   * Before BullMQ completes the job. If this worker crashes in between, the next one finds that the handler
   * has finished, and completes the job without it.
   */
  const dropBody = async (job: BullmqJob, result: InboxResult, signal: AbortSignal) => {
    const done = doneJobOf(job.data, result.outcome === "handled" ? "handled" : "discarded");
    for (let tries = 1; ; tries += 1) {
      try {
        await within(DROP_TIMEOUT_MS, "BullMQ's write of a job", job.updateData(done));
        const { id = "", attemptsMade } = job;
        if (attemptsMade === 0) return;
        await within(DROP_TIMEOUT_MS, "Redis's write of a job", forgetFailures(id));
        return;
      } catch (thrown) {
        if (tries < DROP_TRIES && !signal.aborted) {
          await pause(DROP_RETRY_MS, signal);
          continue;
        }
        const error = queueErrorOf("BullMQ", thrown);
        const line = "the body of a job that is done with could not be taken out of Redis";
        runner.log("error", line, { id: done.id, type: done.type, error });
        return;
      }
    }
  };

  return {
    async process(job) {
      const { id = "" } = job;
      const controller = new AbortController();
      const { signal } = controller;
      reportUnwritten(id, "unknown");
      running.set(id, controller);
      handlersRunning.enter();
      if (isStopped) controller.abort(new WorkerStoppingError());
      try {
        const ended = await runner.run(job.data, runOf(job, signal)).finally(() => {
          handlersRunning.leave();
        });
        if (!hasFailed(ended.result)) {
          await dropBody(job, ended.result, signal);
          runner.report(ended, "tried_again");
          return;
        }
        // BullMQ does not take the result of a run that has lost its lock, and says so to no one.
        if (signal.reason instanceof JobLockLostError) runner.report(ended, "unknown");
        else unwritten.set(id, ended);
        const { result } = ended;
        const delayMs = result.outcome === "retry_later" ? result.retryAfterMs : undefined;
        throw new JobFailure(result.error, delayMs);
      } finally {
        // After a lost lock another run of the same job may have taken the place.
        if (running.get(id) === controller) running.delete(id);
      }
    },
    failed({ id = "", data, attemptsMade, finishedOn }, { message }) {
      const isDead = finishedOn !== undefined;
      if (!reportUnwritten(id, isDead ? "dead" : "tried_again") && isDead) {
        const name = jobNameOf(data);
        const error = new DeadJobError(wordsOfText(message));
        const { id: deliveryId = deliveryIdOf(id), type } = name;
        runner.reportGivenUp({ id: deliveryId, type, attempts: attemptsMade, error });
      }
      return isDead;
    },
    lockLost(ids) {
      const reason = new JobLockLostError();
      for (const id of ids) running.get(id)?.abort(reason);
    },
    stop() {
      isStopped = true;
      for (const controller of running.values()) controller.abort(new WorkerStoppingError());
    },
    flush() {
      for (const id of [...unwritten.keys()]) reportUnwritten(id, "unknown");
    },
    size: () => running.size,
    idle: () => handlersRunning.waitUntilIdle(Infinity),
  };
}

function runOf(job: BullmqJob, signal: AbortSignal): InboxRun {
  const { id = "", stalledCounter = 0, attemptsMade, attemptsStarted = 0, timestamp } = job;
  const attempt = attemptsMade + 1;
  return {
    signal,
    // Each start ends in a result that BullMQ counts, except after a crash; a replay counts from zero again.
    takeover: stalledCounter > 0 || attemptsStarted > attempt,
    attempt,
    lastAttempt: attempt >= (job.opts.attempts ?? 0),
    waitedMs: Math.max(0, (job.processedOn ?? Date.now()) - timestamp),
    jobId: deliveryIdOf(id),
  };
}
