import { ConfigurationError } from "../common/errors.js";
import { ignoreFailure } from "../common/promises.js";
import type { Log } from "../answer/logger.js";

/** What happened to one run of a job, for metrics and alerts. Only `error` may hold personal data. */
export interface JobReport {
  /**
   * - `handled`: the handler finished.
   * - `discarded`: the handler threw `DiscardDelivery`, or there is no handler for this type.
   * - `retry_later`: the handler threw `RetryLater`; the engine runs the job again.
   * - `handler_failed`: the handler threw, or the job could not be read; the engine runs the job again.
   * - `dead`: the engine does not run the job again. Replaces `retry_later` and `handler_failed` on the
   *   last attempt. Also reported for a job that the engine gave up because its workers crashed or took
   *   too long. `deadDeliveries` lists such a job and runs it again.
   */
  readonly outcome: "handled" | "discarded" | "retry_later" | "handler_failed" | "dead";
  /**
   * The number of this attempt, from 1. For a dead job it is the number of all attempts. A replay restarts
   * at 1.
   */
  readonly attempt: number;
  /** True if this was the last attempt: the job is dead if it failed. Always true for `dead`. */
  readonly lastAttempt: boolean;
  /** X-Webhook-Id; if the job cannot be read, the engine's id of the job. */
  readonly id: string;
  /** X-Webhook-Type; undefined if the job cannot be read. */
  readonly type: string | undefined;
  /** How long the handler ran, in milliseconds. 0 if it did not run. */
  readonly durationMs: number;
  /** Milliseconds from the time the delivery was queued to the start of this run. 0 if the handler did not run. */
  readonly waitedMs: number;
  /** True if an earlier run may have had its effect: its worker crashed or took too long, or the job was replayed. */
  readonly takeover?: true;
  /** What the handler threw, or why the engine gave up the job (`DeadJobError`). */
  readonly error?: unknown;
}

/** Receives the report of every run of a job. Its errors and rejections are ignored. */
export type OnJob = (report: JobReport) => unknown;

/**
 * What the engine did with the result of a run: `accepted` (a success completes the job, a failure
 * schedules the next run), `dead` (the failure was the last one) or `refused` (it did not take the result).
 */
export type EngineResponse = "accepted" | "dead" | "refused";

interface Ending {
  readonly outcome: JobReport["outcome"];
  /** Why the run failed, for the log. */
  readonly failure?: string;
}

/** Every way in which a run can end. */
const ENDINGS = {
  handled: { outcome: "handled" },
  unhandled: { outcome: "discarded" },
  discarded: { outcome: "discarded" },
  retry_later: {
    outcome: "retry_later",
    failure: "The handler asked for the delivery again later",
  },
  handler_failed: { outcome: "handler_failed", failure: "The handler failed" },
  unrecognized: { outcome: "handler_failed", failure: "The body is not as documented" },
  malformed: { outcome: "handler_failed", failure: "The job was not made by the inbox" },
  /** The engine gave up the job, and no handler of this process failed. */
  given_up: {
    outcome: "dead",
    failure:
      "The engine gave up the job because its workers crashed, took too long or lost their connection",
  },
} as const satisfies Record<string, Ending>;

/** How a run ended, as the log names it. */
export type JobEnding = keyof typeof ENDINGS;

/** Writes the log line of each run and calls `onJob`. */
export class JobReporter {
  readonly #log: Log;
  readonly #onJob: OnJob | undefined;
  readonly #replayAdvice: (id: string) => string;

  /**
   * `replayAdvice` says how to run a dead job again. Throws `ConfigurationError` if `onJob` is not a
   * function.
   */
  constructor(log: Log, onJob: OnJob | undefined, replayAdvice: (id: string) => string) {
    if (onJob !== undefined && typeof onJob !== "function") {
      throw new ConfigurationError("invalid_option", "onJob must be a function");
    }
    this.#log = log;
    this.#onJob = onJob;
    this.#replayAdvice = replayAdvice;
  }

  report(ending: JobEnding, response: EngineResponse, run: Omit<JobReport, "outcome">): void {
    const { outcome, failure }: Ending = ENDINGS[ending];
    const isDead = failure !== undefined && response === "dead";
    if (isDead) this.#logDead(failure, run);
    else if (failure !== undefined) {
      const level = ending === "retry_later" ? "warn" : "error";
      const next =
        response === "refused"
          ? "the engine did not take the result"
          : "the engine tries the job again";
      this.#log[level](`${ending}: ${failure}; ${next}.`, {
        ...detailsOf(run),
        attempt: run.attempt,
      });
    } else if (ending === "discarded" && run.error !== undefined) {
      // Without an error, an operator discarded it and needs no line about it.
      const line = "discarded: The handler discarded the delivery for good.";
      this.#log.warn(line, detailsOf(run));
    }
    const onJob = this.#onJob;
    if (onJob === undefined) return;
    const lastAttempt = run.lastAttempt || isDead;
    void ignoreFailure(() => onJob({ ...run, outcome: isDead ? "dead" : outcome, lastAttempt }));
  }

  #logDead(failure: string, run: Omit<JobReport, "outcome">): void {
    const { attempt, id } = run;
    const line = `dead: ${failure}, and that was the last of ${String(attempt)} attempts. Fix the cause, then run the delivery again: ${this.#replayAdvice(id)}`;
    this.#log.error(line, { ...detailsOf(run), attempts: attempt });
  }
}

function detailsOf({ id, type, takeover, error }: Omit<JobReport, "outcome">): object {
  return { id, type, ...(takeover === undefined ? {} : { takeover }), error };
}
