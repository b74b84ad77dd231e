import { MAX_TIMER_MS } from "../../common/timers.js";
import { isSerializationFailure } from "./settled.js";

/** What one call may take, in milliseconds, until a receiver says so: the store is used by itself. */
const DEFAULT_LIMIT_MS = 10_000;
/** How long the server's own "too late" may be under way. */
const GRACE_MS = 2_000;
/** How often the server looks whether the client of a statement that waits is still there. */
const HANG_UP_CHECK_MS = 1_000;
const HANG_UP_CHECK = "client_connection_check_interval";

/** When the server has surely noticed that a client has hung up, in milliseconds. */
export const HANG_UP_NOTICED_MS = HANG_UP_CHECK_MS + 500;

/** When one call has to be over. */
export interface Deadline {
  /** Whole milliseconds until then; at least 1. */
  readonly remainingMs: () => number;
}

/**
 * How long the statements of one store may take. The server ends each by itself: a client that only hangs
 * up leaves a server process behind, which waits on for its lock and takes a connection's place.
 */
export class StatementLimits {
  #toldMs: number | undefined;
  /** PostgreSQL 14 and later can, but not on every operating system. */
  #noticesHangUps = true;

  /** How long one call may take. */
  get ms(): number {
    return this.#toldMs ?? DEFAULT_LIMIT_MS;
  }

  /** What a receiver allows; of several receivers the most counts. */
  tell(ms: number): void {
    this.#toldMs = Math.max(this.#toldMs ?? 0, ms);
  }

  deadline(): Deadline {
    const endsAt = performance.now() + this.ms;
    return { remainingMs: () => Math.max(1, Math.ceil(endsAt - performance.now())) };
  }

  /**
   * The statements that limit each one after them in the same transaction to `ms`, and let the server
   * notice a client that hangs up. Local to the transaction, as poolers in transaction mode need it.
   */
  settings(ms: number): string {
    const timeout = `SET LOCAL statement_timeout = ${String(ms)}`;
    if (!this.#noticesHangUps) return timeout;
    return `${timeout}; SET LOCAL ${HANG_UP_CHECK} = ${String(HANG_UP_CHECK_MS)}`;
  }

  /** Whether the same may be tried again after `error`: without a setting that the server does not have. */
  readonly mayTryAgain = (error: unknown): boolean => {
    if (isSerializationFailure(error)) return true;
    // Of several statements that were under way each may: the first to fail has turned it off.
    if (!String(error).includes(HANG_UP_CHECK)) return false;
    this.#noticesHangUps = false;
    return true;
  };
}

/** How long the client waits for a statement that the server ends after `ms`. */
export function clientTimeoutMs(ms: number): number {
  return Math.min(ms + GRACE_MS, MAX_TIMER_MS);
}
