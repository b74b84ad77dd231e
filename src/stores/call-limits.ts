import { MAX_TIMER_MS } from "../common/timers.js";

/** The limit of one call in milliseconds, if no receiver uses the store. */
const DEFAULT_LIMIT_MS = 10_000;
/** How much longer the client waits, in milliseconds, for the server to answer that it ended a statement. */
const GRACE_MS = 2_000;

/** When one call must end. */
export interface Deadline {
  /** The limit of the call in milliseconds. */
  readonly limitMs: number;
  /** Whole milliseconds until then; at least 1. */
  readonly remainingMs: () => number;
  readonly isOver: () => boolean;
}

/**
 * How long the calls of one store may take. The server ends each statement: if only the client closed the
 * connection, the server would go on waiting for its lock and occupy a connection.
 */
export class CallLimits {
  #allowedMs: number | undefined;

  /** How long one call may take. */
  get ms(): number {
    return this.#allowedMs ?? DEFAULT_LIMIT_MS;
  }

  /** Sets the limit of a receiver. With several receivers the largest applies. */
  allow(ms: number): void {
    this.#allowedMs = Math.max(this.#allowedMs ?? 0, ms);
  }

  deadline(): Deadline {
    const limitMs = this.ms;
    const endsAt = performance.now() + limitMs;
    return {
      limitMs,
      remainingMs: () => Math.max(1, Math.ceil(endsAt - performance.now())),
      isOver: () => performance.now() >= endsAt,
    };
  }
}

/** How many milliseconds the client waits for a statement that the server ends after `ms`. */
export function clientTimeoutMs(ms: number): number {
  return Math.min(ms + GRACE_MS, MAX_TIMER_MS);
}
