import { namedHandleError } from "./errors.js";
import type { SqliteDatabase } from "./sqlite-options.js";

/** A transaction that stays open until the caller ends it, which it must do exactly once. */
export interface HeldTransaction {
  /** Throws if the changes are not in the file; call `rollback` then. */
  readonly commit: () => void;
  /** Never throws. */
  readonly rollback: () => void;
}

/** The write transactions of one handle. Each takes the file's write lock when it begins. Synchronous. */
export class WriteTransactions {
  readonly #database: SqliteDatabase;
  readonly #busyTimeoutMs: number;
  #isOpen = false;

  /**
   * @param busyTimeoutMs The handle's own PRAGMA busy_timeout. SQLite would block the whole process for
   * that long, so it is set to 0 for BEGIN and restored after it.
   */
  constructor(database: SqliteDatabase, busyTimeoutMs: number) {
    this.#database = database;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  /** Throws at once if another connection holds the lock; `isBusy` recognizes that error. */
  begin(): void {
    // An earlier rollback may have failed because an iterator of the handle itself was open.
    if (this.#isOpen) this.rollback();
    try {
      this.#beginWithoutWaiting();
    } catch (error) {
      throw namedHandleError(error);
    }
  }

  #beginWithoutWaiting(): void {
    const hasTimeout = this.#busyTimeoutMs !== 0;
    try {
      this.#database.exec(
        hasTimeout ? "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE" : "BEGIN IMMEDIATE",
      );
      this.#isOpen = true;
    } finally {
      if (hasTimeout) this.#database.exec(`PRAGMA busy_timeout = ${this.#busyTimeoutMs}`);
    }
  }

  /** Throws if the changes are not in the file; call `rollback` then. */
  commit(): void {
    // Statements that write must use `exec` or `run`, not `get` with RETURNING. Both drivers drop the
    // error of a commit that fails after `get`, so a write to a full disk would count as done.
    this.#database.exec("COMMIT");
    this.#isOpen = false;
  }

  /** Never throws: after many errors SQLite has rolled back already. */
  rollback(): void {
    try {
      this.#database.exec("ROLLBACK");
      this.#isOpen = false;
    } catch (error) {
      this.#isOpen = !String(error).includes("no transaction is active");
    }
  }

  /** Runs `work` in a transaction. If `work` or the database throws, rolls back and throws that error. */
  run<T>(work: () => T): T {
    this.begin();
    try {
      const result = work();
      this.commit();
      return result;
    } catch (error) {
      this.rollback();
      throw error;
    }
  }
}
