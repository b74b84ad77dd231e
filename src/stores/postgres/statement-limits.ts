import { CallLimits } from "../call-limits.js";
import { isSerializationFailure } from "./errors.js";

/** How often the server checks, while a statement runs, whether its client is still connected. */
const HANG_UP_CHECK_MS = 1_000;
const HANG_UP_CHECK = "client_connection_check_interval";

/** The milliseconds after which the server has noticed a closed connection. */
export const HANG_UP_NOTICED_MS = HANG_UP_CHECK_MS + 500;

/** How long the statements of one store may take, and the settings by which the server ends them. */
export class StatementLimits extends CallLimits {
  /** Whether the server notices closed connections: from PostgreSQL 14 on, on most operating systems. */
  #noticesHangUps = true;

  /**
   * The statements that limit every later one in the same transaction to `ms`, and make the server notice
   * a closed connection. With `lockMs` they also limit each wait for a lock. They end with the transaction,
   * as poolers in transaction mode require.
   */
  settings(ms: number, lockMs?: number): string {
    return this.#settings(ms, lockMs)
      .map(([name, value]) => `SET LOCAL ${name} = ${String(value)}`)
      .join("; ");
  }

  /** The same settings as calls in the list of a SELECT: one statement costs less than one for each. */
  settingCalls(ms: number): string {
    return this.#settings(ms)
      .map(([name, value]) => `set_config('${name}', '${String(value)}', true)`)
      .join(", ");
  }

  #settings(ms: number, lockMs?: number): [name: string, value: number][] {
    const settings: [string, number][] = [["statement_timeout", ms]];
    if (this.#noticesHangUps) settings.push([HANG_UP_CHECK, HANG_UP_CHECK_MS]);
    if (lockMs !== undefined) settings.push(["lock_timeout", lockMs]);
    return settings;
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
