import { DeadlineError } from "../../common/timers.js";
import { clientTimeoutMs, type CallLimits, type Deadline } from "../call-limits.js";
import { retryConflicts } from "../conflict-retry.js";
import { LostAnswerError, UnfinishedTransactionError } from "../transaction-errors.js";
import { connect, type MysqlResult } from "./connection.js";
import { isConflict, isWaitOver } from "./errors.js";
import type { MysqlPromisePool } from "./mysql-pool.js";
import { limited } from "./sql-text.js";

/** Runs one statement that commits by itself. */
export type Run = (statement: string) => Promise<MysqlResult>;

/**
 * Runs `work`, whose statements each commit by themselves, on one connection. The first one must return no
 * rows. The server ends each statement at the time limit of the call. `work` runs again after a deadlock
 * or a lock wait time-out, and if it resolves to undefined because another change overtook it.
 *
 * Rejects if a statement was not committed, and with a `LostAnswerError` if that is unknown; then the
 * connection is closed.
 */
export function runCall<T>(
  pool: MysqlPromisePool,
  limits: CallLimits,
  work: (run: Run) => Promise<T | undefined>,
): Promise<T> {
  const deadline = limits.deadline();
  return retryConflicts(
    () => attempt(pool, deadline, work),
    (error) => isConflict(error) && deadline.remainingMs() > 1,
  );
}

async function attempt<T>(
  pool: MysqlPromisePool,
  deadline: Deadline,
  work: (run: Run) => Promise<T>,
): Promise<T> {
  const connection = await connect(pool, deadline);
  const send = (statement: string): Promise<MysqlResult> => {
    const ms = deadline.remainingMs();
    return connection.query("the statement", clientTimeoutMs(ms), limited(statement, ms));
  };
  const end = (how: "COMMIT" | "ROLLBACK"): Promise<MysqlResult> => {
    const statement = `${how} AND NO CHAIN NO RELEASE`;
    return connection.query(how, clientTimeoutMs(deadline.remainingMs()), statement);
  };

  let mustCommit = false;
  const run: Run = async (statement) => {
    let result = await send(statement);
    if (!mustCommit) {
      if (!result.isInTransaction) return result;
      if (result.isAutocommit) throw new UnfinishedTransactionError();
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
    if (isConflict(error) || isWaitOver(error)) connection.release();
    else await connection.close(error);
    throw error instanceof DeadlineError
      ? new LostAnswerError(`${error.message}: the connection was closed`, { cause: error })
      : error;
  }
}
