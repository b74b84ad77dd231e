import { namedHandleError } from "./handle-errors.js";
import type { SqliteDatabase } from "./sqlite-database.js";

/** The transactions of one handle that take the file's write lock first. All of it is synchronous. */
export interface WriteTransactions {
  /** Throws at once where another connection has the lock; `isLocked` knows the error. */
  readonly begin: () => void;
  /** Throws where the changes are not in the file; then `rollback` has to follow. */
  readonly commit: () => void;
  /** Never throws: after many an error SQLite has rolled back already. */
  readonly rollback: () => void;
  /** Runs `work` in a transaction of its own. Throws what it or the database throws, rolled back. */
  readonly run: <T>(work: () => T) => T;
}

/**
 * Makes the transactions of `database`.
 *
 * @param busyTimeoutMs The handle's own PRAGMA busy_timeout. The lock is not waited for by it, since
 * SQLite stops the whole process meanwhile; it is set aside for BEGIN and put back.
 */
export function createWriteTransactions(
  database: SqliteDatabase,
  busyTimeoutMs: number,
): WriteTransactions {
  const beginSql =
    busyTimeoutMs === 0 ? "BEGIN IMMEDIATE" : "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE";
  const restoreSql = `PRAGMA busy_timeout = ${busyTimeoutMs}`;
  let isOpen = false;

  const beginUnlessLocked = (): void => {
    try {
      database.exec(beginSql);
      isOpen = true;
    } finally {
      if (busyTimeoutMs !== 0) database.exec(restoreSql);
    }
  };

  const begin = (): void => {
    // A rollback that failed, behind an iterator of the handle itself that was left open, is made up for here.
    if (isOpen) rollback();
    try {
      beginUnlessLocked();
    } catch (error) {
      throw namedHandleError(error);
    }
  };

  // By `exec`, here and nowhere by `get` with RETURNING: both drivers drop the error of a commit that
  // fails behind `get`, and what was never written to a full disk would count as claimed.
  const commit = (): void => {
    database.exec("COMMIT");
    isOpen = false;
  };

  const rollback = (): void => {
    try {
      database.exec("ROLLBACK");
      isOpen = false;
    } catch (error) {
      isOpen = !String(error).includes("no transaction is active");
    }
  };

  return {
    begin,
    commit,
    rollback,
    run(work) {
      begin();
      try {
        const result = work();
        commit();
        return result;
      } catch (error) {
        rollback();
        throw error;
      }
    },
  };
}
