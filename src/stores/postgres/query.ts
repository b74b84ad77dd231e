import { DeadlineError, within } from "../../common/timers.js";
import { clientTimeoutMs, type Deadline } from "../call-limits.js";
import { LostAnswerError, UnfinishedTransactionError } from "../transaction-errors.js";
import { connect, lastResult } from "./connection.js";
import { SQLSTATE, sqlStateOf } from "./errors.js";
import type { PostgresPool, PostgresResult, PostgresTransactionPool } from "./postgres-pool.js";
import { inlineParameters } from "./sql-text.js";
import type { StatementLimits } from "./statement-limits.js";

/**
 * Runs one statement that commits by itself. The server ends it at `deadline`. Rejects if it was not
 * committed, and with a `LostAnswerError` if that is unknown; then the connection is closed.
 */
export async function query(
  pool: PostgresPool,
  limits: StatementLimits,
  deadline: Deadline,
  statement: string,
  values: unknown[],
): Promise<PostgresResult> {
  if (!isPool(pool)) {
    return within(deadline.remainingMs(), "pool.query", pool.query(statement, values));
  }
  const connection = await connect(pool, deadline);
  const { client } = connection;
  const ms = deadline.remainingMs();
  try {
    // Several statements in one text are one transaction.
    const text = `${limits.settings(ms)};\n${inlineParameters(statement, values)}`;
    const result = await connection.query("the statement", clientTimeoutMs(ms), text);
    const status = client.getTransactionStatus?.();
    if (status === "T" || status === "E") throw new UnfinishedTransactionError();
    connection.release();
    return lastResult(result);
  } catch (error) {
    // The server ended the statement in time, so the connection is still good. If it were closed, every
    // call would open another one while a table is locked.
    const isIdle = client.getTransactionStatus?.() === "I";
    if (sqlStateOf(error) === SQLSTATE.queryCanceled && isIdle) connection.release();
    else await connection.close(error);
    throw error instanceof DeadlineError
      ? new LostAnswerError(`${error.message}: the connection was closed`, { cause: error })
      : error;
  }
}

/** False for a single client of pg, whose `connect` means something else. */
function isPool(pool: PostgresPool): pool is PostgresTransactionPool {
  return "connect" in pool && "totalCount" in pool;
}
