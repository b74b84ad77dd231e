import type { RetryOptions } from "./queue-options.js";
import { clampRetryAfterMs } from "../answer/retry-after.js";
import { MAX_DELAY_MS } from "./envelope.js";
import { JobFailure } from "./job-failure.js";
import type { HandledJob } from "./job-handling.js";
import type { JobEnding } from "./job-report.js";
import type { QueueMessage, QueueSettlement } from "./queue-driver.js";

/** When a failed job runs again. */
export type Retries = Readonly<Record<keyof RetryOptions, number>>;

/**
 * How a run ended. `skipped`: the delivery was handled before. `postponed`: nothing failed, but it cannot run now;
 * another worker has it, or the store is away.
 */
export interface RunResult {
  readonly ending: JobEnding | "skipped" | "postponed";
  readonly error?: unknown;
  readonly retryAfterMs?: number | undefined;
  readonly takeover?: boolean;
  /** It has not run: the store leases it to a worker that runs it, or has crashed. */
  readonly isLeased?: true;
  /** The worker stops and has cut the handler off, so its error is no failed attempt. */
  readonly isCutOff?: boolean;
}

const DONE = new Set<RunResult["ending"]>(["handled", "unhandled", "discarded", "skipped"]);

/** How a run ended, as its claim tells. Undefined: it has not run, and cannot now. */
export function resultOf(handled: HandledJob, isCutOff: boolean): RunResult | undefined {
  const { outcome, error, takeover, hasRun } = handled;
  const retryAfterMs = clampRetryAfterMs(handled.retryAfterMs);
  switch (outcome) {
    case "duplicate":
      return { ending: "skipped" };
    case "handled":
    case "discarded":
      // The store has not taken the completion, and the message is lost: another run may begin.
      return handled.unfinished === undefined
        ? { ending: outcome, error, takeover }
        : { ending: "postponed" };
    case "retry_later":
      return { ending: outcome, error, takeover, retryAfterMs };
    case "in_flight":
      return { ending: "postponed", retryAfterMs, isLeased: true };
    case "handler_failed":
    case "handler_timeout":
      return { ending: "handler_failed", error, takeover, isCutOff };
    default:
      return hasRun ? { ending: "handler_failed", error, takeover, isCutOff } : undefined;
  }
}

/** What becomes of the message: the table of the whole worker. */
export function settlementOf(
  { ending, error, retryAfterMs, isLeased, isCutOff = false }: RunResult,
  { attempt }: QueueMessage,
  isLast: boolean,
  { retryDelayMs }: Retries,
): QueueSettlement {
  if (DONE.has(ending)) return { result: "done" };
  if (ending === "postponed" || isCutOff) {
    return { result: "retry", afterMs: Math.ceil(retryAfterMs ?? retryDelayMs), isLeased };
  }
  const failure = new JobFailure(error);
  if (isLast) return { result: "dead", error: failure };
  const backoffMs = Math.min(retryDelayMs * 2 ** (attempt - 1), MAX_DELAY_MS);
  return { result: "retry", afterMs: Math.ceil(retryAfterMs ?? backoffMs), error: failure };
}
