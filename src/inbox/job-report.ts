import { ConfigurationError } from "../common/errors.js";
import { ignoreFailure } from "../common/promises.js";
import type { WorkerLog } from "./worker-log.js";

/** What became of one run of a job, for metrics and alerts. Holds nothing personal but what `error` brings. */
export interface JobReport {
  /**
   * - `handled`: the handler finished.
   * - `discarded`: the handler threw `DiscardDelivery`, or no handler is given for this type.
   * - `retry_later`: the handler threw `RetryLater`; the engine runs the job again.
   * - `handler_failed`: the handler threw, or the job could not be read; the engine runs the job again.
   * - `dead`: the engine does not run the job again. Reported instead of `retry_later` and
   *   `handler_failed` on the last attempt, and for a job that the engine gave up without the handler,
   *   because its workers crashed or took too long. `deadDeliveries` lists it and runs it again.
   */
  readonly outcome: "handled" | "discarded" | "retry_later" | "handler_failed" | "dead";
  /** The number of this attempt, from 1; of a dead job, how many there were. It starts at 1 again after a replay. */
  readonly attempt: number;
  /** Whether the job is dead if this attempt fails. True for `dead`. */
  readonly lastAttempt: boolean;
  /** X-Webhook-Id; the engine's own id of the job where the job cannot be read. */
  readonly id: string;
  /** X-Webhook-Type; undefined where the job cannot be read. */
  readonly type: string | undefined;
  /** How long the handler ran, in milliseconds. 0 where it did not run. */
  readonly durationMs: number;
  /** From the time the delivery was put into the queue to the start of this run, in milliseconds. 0 where the handler did not run. */
  readonly waitedMs: number;
  /** True where an earlier run may have had its effect: its worker crashed or took too long, or the job was replayed. */
  readonly takeover?: true;
  /** What the handler threw, or why the engine gave the job up (`DeadJobError`). */
  readonly error?: unknown;
}

/** Takes the report of every run of a job. What it throws or rejects with changes nothing. */
export type OnJob = (report: JobReport) => unknown;

/** The engine gave a job up, and no handler of this process failed: its workers crashed, took too long or were cut off. */
export class DeadJobError extends Error {
  override readonly name = "DeadJobError";
  /** Always `dead_job`. */
  readonly code = "dead_job";
}

/** Checks `onJob`. Throws `ConfigurationError` where it is no function. */
export function checkOnJob(onJob: unknown): void {
  if (onJob === undefined || typeof onJob === "function") return;
  throw new ConfigurationError("invalid_option", "onJob has to be a function");
}

/** How a run ended, in words of its own for the log. */
export type JobEnding =
  | Exclude<JobReport["outcome"], "dead">
  | "unhandled"
  | "unrecognized"
  | "malformed"
  /** The engine gave the job up without the handler. */
  | "lost";

const CAUSES = {
  retry_later: "The handler asked for the delivery again later",
  handler_failed: "The handler failed",
  unrecognized: "The body is not as documented",
  malformed: "The job is not one of the inbox",
  lost: "The engine gave the job up, since its workers crashed, took too long or were cut off",
} as const satisfies Partial<Record<JobEnding, string>>;

/** What the engine does with a job whose run failed. `unknown`: it did not take the result. */
export type Fate = "tried_again" | "dead" | "unknown";

const FATES = {
  tried_again: "the engine tries the job again",
  unknown: "the engine did not take the result",
} as const;

/** Writes the line of a run and calls `onJob`. */
export type ReportJob = (ending: JobEnding, fate: Fate, report: Omit<JobReport, "outcome">) => void;

/** Makes the report of a worker. `replayAdvice` says how a dead job is run again. */
export function createReportJob(
  log: WorkerLog,
  onJob: OnJob | undefined,
  replayAdvice: (id: string) => string,
): ReportJob {
  return (ending, fate, facts) => {
    const { attempt, id, type, takeover, error } = facts;
    const details = { id, type, ...(takeover === undefined ? {} : { takeover }), error };
    const cause = isFailure(ending) ? CAUSES[ending] : undefined;
    if (cause === undefined) {
      // An operator's own `discard` brings no error, and needs no line.
      if (ending === "discarded" && error !== undefined) {
        log("warn", "discarded: The handler discarded the delivery for good.", details);
      }
    } else if (fate === "dead") {
      const line = `dead: ${cause}, and that was the last of ${String(attempt)} attempts. Fix the cause, then run the delivery again: ${replayAdvice(id)}`;
      log("error", line, { ...details, attempts: attempt });
    } else {
      const level = ending === "retry_later" ? "warn" : "error";
      log(level, `${ending}: ${cause}; ${FATES[fate]}.`, { ...details, attempt });
    }
    const outcome = cause !== undefined && fate === "dead" ? "dead" : OUTCOMES[ending];
    const isLast = facts.lastAttempt || outcome === "dead";
    if (onJob !== undefined)
      void ignoreFailure(() => onJob({ outcome, ...facts, lastAttempt: isLast }));
  };
}

const OUTCOMES = {
  handled: "handled",
  unhandled: "discarded",
  discarded: "discarded",
  retry_later: "retry_later",
  handler_failed: "handler_failed",
  unrecognized: "handler_failed",
  malformed: "handler_failed",
  lost: "dead",
} as const satisfies Record<JobEnding, JobReport["outcome"]>;

function isFailure(ending: JobEnding): ending is keyof typeof CAUSES {
  return ending in CAUSES;
}
