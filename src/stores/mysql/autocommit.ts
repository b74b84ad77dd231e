import { unfinishedTransaction, lostAnswerOf } from "../transaction-errors.js";
import { clientTimeoutMs, type Deadline } from "../call-limits.js";
import { retryConflicts } from "../conflict-retry.js";
import { connect, type MysqlResult } from "./connection.js";
import { isConflict, isDeadlock, isWaitOver } from "./errors.js";
import type { MysqlPromisePool } from "./mysql-pool.js";
import { limited } from "./sql-text.js";

/** Runs one statement that commits by itself. */
export type Run = (statement: string) => Promise<MysqlResult>;

/** How the statements of a call are limited. */
export interface CallOptions {
  readonly deadline: Deadline;
  /** The longest wait for one lock, in milliseconds. Without it a wait ends at the deadline. */
  readonly lockMs?: number | undefined;
}

/**
 * Runs `work` like `runOnce`, and again after a deadlock, and if it resolves to undefined because another
 * change overtook it. Without `lockMs` also after a lock wait time-out.
 */
export function runCall<T>(
  pool: MysqlPromisePool,
  options: CallOptions,
  work: (run: Run) => Promise<T | undefined>,
): Promise<T> {
  const { deadline, lockMs } = options;
  const mayRetry = lockMs === undefined ? isConflict : isDeadlock;
  return retryConflicts(
    () => runOnce(pool, options, work),
    (error) => mayRetry(error) && deadline.remainingMs() > 1,
  );
}

/**
 * Runs `work`, whose statements each commit by themselves, on one connection. At least one of them must
 * return no rows: only its result tells whether a transaction is open. The server ends each statement at the deadline.
 *
 * Rejects if a statement was not committed, and with an error with the code `lost_answer` if that is unknown; then the
 * connection is closed.
 */
export async function runOnce<T>(
  pool: MysqlPromisePool,
  { deadline, lockMs }: CallOptions,
  work: (run: Run) => Promise<T>,
): Promise<T> {
  const connection = await connect(pool, deadline);
  const send = (statement: string): Promise<MysqlResult> => {
    const ms = deadline.remainingMs();
    return connection.query("the statement", clientTimeoutMs(ms), limited(statement, ms, lockMs));
  };
  const end = (how: "COMMIT" | "ROLLBACK"): Promise<MysqlResult> => {
    const statement = `${how} AND NO CHAIN NO RELEASE`;
    return connection.query(how, clientTimeoutMs(deadline.remainingMs()), statement);
  };

  /** With autocommit off, the server has undone only the statement, and its transaction keeps locks. */
  const rollBack = async (): Promise<void> => {
    try {
      await end("ROLLBACK");
      connection.release();
    } catch (error) {
      await connection.close(error);
    }
  };

  let mustCommit = false;
  const run: Run = async (statement) => {
    let result = await send(statement);
    if (!mustCommit) {
      if (!result.isInTransaction) return result;
      if (result.isAutocommit) throw unfinishedTransaction();
      // A connection with autocommit off. What other code left open on it is not the store's to commit.
      await end("ROLLBACK");
      mustCommit = true;
      result = await send(statement);
    }
    await end("COMMIT");
    return result;
  };

  try {
    const result = await work(run);
    connection.release();
    return result;
  } catch (error) {
    // If a connection were closed after each of these, every call would open another one while a table is
    // locked.
    if (isConflict(error) || isWaitOver(error)) await rollBack();
    else await connection.close(error);
    throw lostAnswerOf(error);
  }
}
