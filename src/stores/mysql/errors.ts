/** The error numbers that the stores react to. */
export const ERRNO = {
  /** MariaDB also answers this to NOWAIT. */
  lockWaitTimeout: 1205,
  deadlock: 1213,
  noSuchSavepoint: 1305,
  /** MariaDB: the time of `max_statement_time` is over. */
  statementTimeout: 1969,
  /** MySQL's answer to NOWAIT. */
  lockedNow: 3572,
} as const;

/** The number of an error from the server. */
export function errnoOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "errno" in error ? error.errno : undefined;
}

/** Whether the server has undone the statement, so that the connection is still good. */
export function isWaitOver(error: unknown): boolean {
  return isLockWaitOver(error) || errnoOf(error) === ERRNO.statementTimeout;
}

/** Whether the server has rolled the transaction back to end a deadlock. */
export function isDeadlock(error: unknown): boolean {
  return errnoOf(error) === ERRNO.deadlock;
}

/** Whether a statement waited too long for a lock, or was not to wait. It undoes only that statement. */
export function isLockWaitOver(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === ERRNO.lockWaitTimeout || errno === ERRNO.lockedNow;
}

/**
 * Whether the same call may succeed at the next attempt. After a lock wait time-out, retry it only if
 * nothing else runs in its transaction.
 */
export function isConflict(error: unknown): boolean {
  return isDeadlock(error) || isLockWaitOver(error);
}
