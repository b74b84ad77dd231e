import { LRUCache } from "lru-cache";
import type { Log } from "../answer/logger.js";
import type { Ending, Trace } from "../answer/trace.js";

/** By how much a stale timestamp misses the tolerance, and in which direction, for the log. */
function staleness(timestampMs: number, nowMs: number, toleranceMs: number): string {
  const offMs = nowMs - timestampMs;
  if (!Number.isFinite(offMs)) return "The option now gave no number.";
  const beyond = `${seconds(Math.abs(offMs) - toleranceMs)} s`;
  const tolerance = `timestampToleranceMs (${String(toleranceMs)}) allows`;
  return offMs > 0
    ? `Signed ${seconds(offMs)} s ago: ${beyond} older than ${tolerance}.`
    : `Signed ${seconds(-offMs)} s ahead of this clock: ${beyond} more than ${tolerance}.`;
}

/** Whole seconds, rounded up, so that no delivery is reported as 0 s too old. */
function seconds(ms: number): string {
  return String(Math.ceil(ms / 1000));
}

/** The gateway waits 10 s before its first retry; earlier duplicates come from the network. */
const MIN_GAP_MS = 8_000;
/** Number of ids remembered. A gateway that repeats timestamps does so for every id, so few are enough. */
const MAX_IDS = 1_000;

const NOTICE =
  "one delivery came again more than 8 s later with the same X-Webhook-Timestamp: either the gateway repeats" +
  " the first timestamp at each attempt, or a proxy or someone with a captured delivery sends the same bytes" +
  " again. If it is the gateway, its later attempts will be refused as stale: raise timestampToleranceMs (with a" +
  " store that survives restarts, at most to retentionMs)";

/**
 * Warns once if a later attempt repeats the timestamp of an earlier one. Retries are expected to be signed
 * anew: a gateway that repeats the first timestamp is refused as stale after `timestampToleranceMs`. Only
 * ids that were not handled are remembered, because the gateway sends no others again.
 */
export class TimestampWatch {
  readonly #now: () => number;
  readonly #log: Log;
  readonly #seen = new LRUCache<string, { timestampMs: number; arrivedAt: number }>({
    max: MAX_IDS,
  });
  #hasWarned = false;

  constructor(now: () => number, log: Log) {
    this.#now = now;
    this.#log = log;
  }

  /** Called once per request, when it has ended. Never throws. */
  check({ id, timestampMs, startedAt }: Trace, isHandled: boolean): void {
    // Without an id the request is not authentic.
    if (id === undefined || this.#hasWarned || (isHandled && this.#seen.size === 0)) return;
    try {
      this.#compare(id, timestampMs, startedAt, isHandled);
    } catch {
      // `now` is the partner's code. Its failure must not change the answer.
    }
  }

  #compare(id: string, timestampMs: number, startedAt: number, isHandled: boolean): void {
    const known = this.#seen.get(id);
    if (known === undefined && isHandled) return;
    const now = this.#now;
    // Time of arrival by the receiver's clock, without the time that the handler took.
    const arrivedAt = now() - (performance.now() - startedAt);
    if (known?.timestampMs !== timestampMs) {
      this.#seen.set(id, { timestampMs, arrivedAt });
      return;
    }
    if (Math.abs(arrivedAt - known.arrivedAt) <= MIN_GAP_MS) return;
    this.#hasWarned = true;
    this.#seen.clear();
    this.#log.warn(NOTICE, { id });
  }
}

/** The end of a request whose signed timestamp is outside the tolerance. */
export function stale(timestampMs: number, nowMs: number, toleranceMs: number): Ending {
  return { outcome: "stale", fact: () => staleness(timestampMs, nowMs, toleranceMs) };
}
