/** SQLITE_BUSY. Extended codes hold it in their last byte (https://sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;

/** Whether another connection holds the lock. better-sqlite3 reports a name, `node:sqlite` a number. */
export function isBusy(error: unknown): error is Error {
  const { code, errcode } = Object(error) as { code?: unknown; errcode?: unknown };
  return String(code).startsWith("SQLITE_BUSY") || (Number(errcode) & 0xff) === SQLITE_BUSY;
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
