import { GatewayWebhookError, invalidOption } from "../common/errors.js";
import { ignoreFailure } from "../common/promises.js";
import type { Observation } from "../telemetry/observation.js";
import type { JobReport } from "../telemetry/telemetry.js";

export type { JobReport } from "../telemetry/telemetry.js";
import type { Log } from "../answer/logger.js";
import { jobNameOf } from "./inbox-job.js";
import { wordsOfText } from "./queue-error.js";

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
  unhandled: { outcome: "unhandled" },
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
      throw invalidOption("onJob must be a function");
    }
    this.#log = log;
    this.#onJob = onJob;
    this.#replayAdvice = replayAdvice;
  }

  report(
    ending: JobEnding,
    response: EngineResponse,
    observation: Observation | undefined,
    run: Omit<JobReport, "outcome">,
  ): void {
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
    if (onJob === undefined && observation === undefined) return;
    const lastAttempt = run.lastAttempt || isDead;
    const report: JobReport = { ...run, outcome: isDead ? "dead" : outcome, lastAttempt };
    observation?.end(report);
    if (onJob !== undefined) void ignoreFailure(() => onJob(report));
  }

  /**
   * Reports a job that the engine gave up although no handler of this process failed. `data`: of the job, or
   * what names its delivery. `reason`: the text that the engine has stored of its last error.
   */
  reportGivenUp(
    job: { readonly id: string; readonly data: unknown; readonly attempt: number },
    reason: unknown,
    observation: Observation | undefined,
  ): void {
    const { id = job.id, type } = jobNameOf(job.data);
    const message = wordsOfText(reason) || "the engine gave up the job";
    this.report("given_up", "dead", observation, {
      attempt: job.attempt,
      lastAttempt: true,
      id,
      type,
      durationMs: 0,
      waitedMs: 0,
      takeover: true,
      error: new GatewayWebhookError("dead_job", message),
    });
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
