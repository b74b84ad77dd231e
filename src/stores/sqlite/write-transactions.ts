import { isLocked } from "./locked.js";
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

/** Whoever opened a transaction on the handle has not ended it. */
class HandleInTransactionError extends Error {
  override readonly name = "HandleInTransactionError";

  constructor(cause: unknown) {
    super(
      "a transaction is open on the database handle, and what it rolls back would be forgotten: " +
        "give the store a handle of its own",
      { cause },
    );
  }
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

  const begin = (): void => {
    // A rollback that failed, behind an iterator of the handle itself that was left open, is made up for here.
    if (isOpen) rollback();
    try {
      database.exec(beginSql);
      isOpen = true;
    } catch (error) {
      throw isLocked(error) ? error : namedError(error);
    } finally {
      if (busyTimeoutMs !== 0) database.exec(restoreSql);
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

function namedError(error: unknown): unknown {
  const isNested = String(error).includes("within a transaction");
  return isNested ? new HandleInTransactionError(error) : error;
}
