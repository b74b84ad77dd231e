import type { RetryLater } from "../handling/handler-errors.js";

/** What the engine knows of this run of a job. */
export interface InboxRun {
  /** Aborts when the worker is stopped, or the engine may give the job to another one. */
  readonly signal: AbortSignal;
  /** Whether an earlier run may have had its effect, as after a crash or a replay. */
  readonly takeover: boolean;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** Whether the engine gives the job up if this run fails. */
  readonly lastAttempt: boolean;
  /** From the time the job was put into the queue to now, in milliseconds. */
  readonly waitedMs: number;
  /** The engine's id of the job, which names it in log and report where the job cannot be read. */
  readonly jobId: string;
}

/** How a run ended; what the engine does with the job follows from it. */
export type InboxResult =
  /** Done with. `unhandled`: no handler is given for this type. */
  | { readonly outcome: "handled" | "unhandled" }
  /** Done with: the handler threw `DiscardDelivery`, or an operator discarded the delivery (no error). */
  | { readonly outcome: "discarded"; readonly error: unknown }
  /** To be tried again, in `retryAfterMs` where it is given, in the engine's own time otherwise. */
  | {
      readonly outcome: "retry_later";
      readonly error: RetryLater;
      readonly retryAfterMs: number | undefined;
    }
  /** To be tried again in the engine's own time. `malformed`: no job of ours. */
  | { readonly outcome: "handler_failed" | "unrecognized" | "malformed"; readonly error: unknown };

/** A result after which the job is not done with. */
export type FailedResult = Extract<
  InboxResult,
  { outcome: "retry_later" | "handler_failed" | "unrecognized" | "malformed" }
>;

/** Whether the engine has to run the job again. */
export function hasFailed(result: InboxResult): result is FailedResult {
  const { outcome } = result;
  return outcome !== "handled" && outcome !== "unhandled" && outcome !== "discarded";
}
