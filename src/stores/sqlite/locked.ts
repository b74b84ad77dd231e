/** SQLITE_BUSY; the extended codes hold it in their last byte (https://sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;

/** Whether another connection had the lock. better-sqlite3 names the code, `node:sqlite` numbers it. */
export function isLocked(error: unknown): error is Error {
  const { code, errcode } = Object(error) as { code?: unknown; errcode?: unknown };
  return String(code).startsWith("SQLITE_BUSY") || (Number(errcode) & 0xff) === SQLITE_BUSY;
}

/**
 * Milliseconds until the next attempt to get the lock. Short, and no longer after each failure: SQLite
 * keeps no queue of those who wait, so a process that asks less often than the others waits the longest.
 */
export function retryDelayMs(): number {
  return 0.5 + Math.random();
}

/**
 * What `attempt` returns. While another connection has the lock, the process stops and tries again.
 * Throws the error of SQLite if the lock is still taken after `timeoutMs`.
 */
export function untilUnlockedSync<T>(attempt: () => T, timeoutMs: number): T {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isLocked(error) || performance.now() >= giveUpAt) throw error;
      sleepSync(retryDelayMs());
    }
  }
}

function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
