import type { MaybePromise } from "../../maybe-promise.js";

/** SQLITE_BUSY; the extended codes hold it in their last byte (https://sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;
/** Short, since a process that writes all the time leaves but gaps to the others. */
const MAX_PAUSE_MS = 10;

/** Whether another connection had the lock. better-sqlite3 names the code, `node:sqlite` numbers it. */
export function isLocked(error: unknown): boolean {
  const { code, errcode } = Object(error) as { code?: unknown; errcode?: unknown };
  return String(code).startsWith("SQLITE_BUSY") || (Number(errcode) & 0xff) === SQLITE_BUSY;
}

/**
 * What `attempt` returns: at once where the file is free, and otherwise a promise of it. Throws or
 * rejects with the error of SQLite where it is still locked after `timeoutMs`.
 */
export function whenUnlocked<T>(attempt: () => T, timeoutMs: number): MaybePromise<T> {
  const giveUpAt = performance.now() + timeoutMs;
  try {
    return attempt();
  } catch (error) {
    if (!isLocked(error) || timeoutMs <= 0) throw error;
    return retry(attempt, giveUpAt, error);
  }
}

async function retry<T>(attempt: () => T, giveUpAt: number, locked: unknown): Promise<T> {
  let error = locked;
  for (let pauseMs = 1; performance.now() < giveUpAt; pauseMs = nextPause(pauseMs)) {
    await pause(Math.min(pauseMs * (0.5 + Math.random()), giveUpAt - performance.now()));
    try {
      return attempt();
    } catch (thrown) {
      if (!isLocked(thrown)) throw thrown;
      error = thrown;
    }
  }
  throw error;
}

function nextPause(pauseMs: number): number {
  return Math.min(pauseMs * 2, MAX_PAUSE_MS);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
