import { JobFailure } from "./job-failure.js";
import type { JobEnding } from "./job-report.js";
import type { QueueMessage, QueueSettlement } from "./queue-driver.js";

/** When a failed job runs again, in milliseconds. */
export interface Retries {
  readonly retryLimit: number;
  readonly retryDelayMs: number;
}

/**
 * How a run ended. `skipped`: the delivery was handled before. `postponed`: nothing failed, but it cannot run now;
 * another worker has it, or the store is away.
 */
export interface RunResult {
  readonly ending: JobEnding | "skipped" | "postponed";
  readonly error?: unknown;
  readonly retryAfterMs?: number | undefined;
  readonly takeover?: boolean;
  /** The worker stops and has cut the handler off, so its error is no failed attempt. */
  readonly isCutOff?: boolean;
}

/** The longest delay between two runs: a day. */
const MAX_DELAY_MS = 86_400_000;
const DONE = new Set<RunResult["ending"]>(["handled", "unhandled", "discarded", "skipped"]);

/** What becomes of the message: the table of the whole worker. */
export function settlementOf(
  { ending, error, retryAfterMs, isCutOff = false }: RunResult,
  { attempt }: QueueMessage,
  isLast: boolean,
  { retryDelayMs }: Retries,
): QueueSettlement {
  if (DONE.has(ending)) return { result: "done" };
  if (ending === "postponed" || isCutOff) {
    return { result: "retry", afterMs: Math.ceil(retryAfterMs ?? retryDelayMs) };
  }
  const failure = new JobFailure(error);
  if (isLast) return { result: "dead", error: failure };
  const backoffMs = Math.min(retryDelayMs * 2 ** (attempt - 1), MAX_DELAY_MS);
  return { result: "retry", afterMs: Math.ceil(retryAfterMs ?? backoffMs), error: failure };
}
