import { GatewayWebhookError } from "../../common/errors.js";

/** The messages of better-sqlite3, of `node:sqlite` for a handle and a statement, and of `bun:sqlite`. */
const CLOSED =
  /database (?:connection )?is not open|statement has been finalized|database has closed|closed database/i;

/** The error that names what is wrong with the handle. Any other error is returned unchanged. */
export function namedHandleError(error: unknown): unknown {
  const text = String(error);
  if (text.includes("within a transaction")) {
    return new GatewayWebhookError(
      "handle_in_transaction",
      "a transaction is open on the database handle, and its rollback would undo the store's writes: " +
        "give the store a handle of its own",
      { cause: error },
    );
  }
  if (CLOSED.test(text)) {
    return new GatewayWebhookError(
      "handle_closed",
      "the database handle is not open: close it after receiver.drain() has resolved",
      { cause: error },
    );
  }
  return error;
}

/** SQLITE_BUSY. Extended codes hold it in their last byte (https://sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;

/**
 * Whether another connection holds the lock. better-sqlite3 and `bun:sqlite` report a name, `node:sqlite` a
 * number. `exec` of `node:sqlite` on Deno reports neither, only SQLite's text for SQLITE_BUSY.
 */
export function isBusy(error: unknown): error is Error {
  const { code, errcode, message } = Object(error) as Record<string, unknown>;
  if (String(code).startsWith("SQLITE_BUSY")) return true;
  if (errcode === undefined) return message === "database is locked";
  return (Number(errcode) & 0xff) === SQLITE_BUSY;
}

/**
 * Milliseconds until the next attempt to get the lock. Short, and not longer after each failure: SQLite
 * keeps no queue of waiting processes, so a process that tries less often than the others waits longest.
 */
export function retryDelayMs(): number {
  return 0.5 + Math.random();
}

/**
 * Runs `attempt`, again and again while another connection holds the lock. It blocks the process. Throws
 * the error of SQLite if the lock is still held after `timeoutMs` milliseconds.
 */
export function retryWhileBusySync<T>(attempt: () => T, timeoutMs: number): T {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= giveUpAt) throw error;
      sleepSync(retryDelayMs());
    }
  }
}

function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
