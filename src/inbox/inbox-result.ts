import type { RetryLater } from "../handling/handler-errors.js";

/** What the engine knows about one run of a job. */
export interface InboxRun {
  /** Aborts when the worker is stopped, or when the engine may give the job to another worker. */
  readonly signal: AbortSignal;
  /** True if an earlier run may have had its effect, for example after a crash or a replay. */
  readonly takeover: boolean;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** True if the engine gives up the job when this run fails. */
  readonly lastAttempt: boolean;
  /** Milliseconds from the time the job was put into the queue until now. */
  readonly waitedMs: number;
  /** The engine's id of the job. Log and report use it if the job cannot be read. */
  readonly jobId: string;
}

/** How a run ended. It decides what the engine must do with the job. */
export type InboxResult =
  /** Complete the job. `unhandled`: there is no handler for this type. */
  | { readonly outcome: "handled" | "unhandled" }
  /** Complete the job. The handler threw `DiscardDelivery`, or an operator discarded it (no `error`). */
  | { readonly outcome: "discarded"; readonly error: unknown }
  /** Run the job again, after `retryAfterMs` if it is given, otherwise after the engine's own delay. */
  | {
      readonly outcome: "retry_later";
      readonly error: RetryLater;
      readonly retryAfterMs: number | undefined;
    }
  /** Run the job again after the engine's own delay. `malformed`: the inbox did not make this job. */
  | { readonly outcome: "handler_failed" | "unrecognized" | "malformed"; readonly error: unknown };

/** A result after which the job must run again. */
export type FailedResult = Extract<
  InboxResult,
  { outcome: "retry_later" | "handler_failed" | "unrecognized" | "malformed" }
>;

/** Whether the engine must run the job again. */
export function hasFailed(result: InboxResult): result is FailedResult {
  const { outcome } = result;
  return outcome !== "handled" && outcome !== "unhandled" && outcome !== "discarded";
}
