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
  const errno = errnoOf(error);
  return errno === ERRNO.lockWaitTimeout || errno === ERRNO.statementTimeout;
}

/**
 * Whether the same call may succeed at the next attempt. A lock wait time-out undoes only its statement:
 * retry it only if nothing else runs in its transaction.
 */
export function isConflict(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === ERRNO.deadlock || errno === ERRNO.lockWaitTimeout;
}
