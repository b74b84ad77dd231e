import { MAX_TIMER_MS } from "../../common/timers.js";
import { isSerializationFailure } from "./errors.js";

/** The limit of one call in milliseconds, if no receiver uses the store. */
const DEFAULT_LIMIT_MS = 10_000;
/** How much longer the client waits, in milliseconds, for the server to answer that it ended a statement. */
const GRACE_MS = 2_000;
/** How often the server checks, while a statement runs, whether its client is still connected. */
const HANG_UP_CHECK_MS = 1_000;
const HANG_UP_CHECK = "client_connection_check_interval";

/** The milliseconds after which the server has noticed a closed connection. */
export const HANG_UP_NOTICED_MS = HANG_UP_CHECK_MS + 500;

/** When one call must end. */
export interface Deadline {
  /** Whole milliseconds until then; at least 1. */
  readonly remainingMs: () => number;
}

/**
 * How long the statements of one store may take. The server ends each of them: if only the client closed
 * the connection, the server process would go on waiting for its lock and occupy a connection.
 */
export class StatementLimits {
  #allowedMs: number | undefined;
  /** Whether the server notices closed connections: from PostgreSQL 14 on, on most operating systems. */
  #noticesHangUps = true;

  /** How long one call may take. */
  get ms(): number {
    return this.#allowedMs ?? DEFAULT_LIMIT_MS;
  }

  /** Sets the limit of a receiver. With several receivers the largest applies. */
  allow(ms: number): void {
    this.#allowedMs = Math.max(this.#allowedMs ?? 0, ms);
  }

  deadline(): Deadline {
    const endsAt = performance.now() + this.ms;
    return { remainingMs: () => Math.max(1, Math.ceil(endsAt - performance.now())) };
  }

  /**
   * The statements that limit every later one in the same transaction to `ms`, and make the server notice
   * a closed connection. They end with the transaction, as poolers in transaction mode require.
   */
  settings(ms: number): string {
    const timeout = `SET LOCAL statement_timeout = ${String(ms)}`;
    if (!this.#noticesHangUps) return timeout;
    return `${timeout}; SET LOCAL ${HANG_UP_CHECK} = ${String(HANG_UP_CHECK_MS)}`;
  }

  /** Whether the call may be retried after `error`. Drops a setting that the server does not know. */
  readonly mayRetry = (error: unknown): boolean => {
    if (isSerializationFailure(error)) return true;
    // Not only for the first such error: other calls may have sent the setting at the same time.
    if (!String(error).includes(HANG_UP_CHECK)) return false;
    this.#noticesHangUps = false;
    return true;
  };
}

/** How many milliseconds the client waits for a statement that the server ends after `ms`. */
export function clientTimeoutMs(ms: number): number {
  return Math.min(ms + GRACE_MS, MAX_TIMER_MS);
}
