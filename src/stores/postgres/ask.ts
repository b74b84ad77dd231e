import { DeadlineError, within } from "../../common/timers.js";
import { connect } from "./connection.js";
import { inlined } from "./inlined.js";
import { lastResult } from "./last-result.js";
import type { PostgresPool, PostgresResult, PostgresTransactionPool } from "./postgres-pool.js";
import { clientTimeoutMs, type Deadline, type StatementLimits } from "./statement-limits.js";

/** The client was released inside of a transaction before: nothing that we do there stays. */
export class UnfinishedTransactionError extends Error {
  override readonly name = "UnfinishedTransactionError";
  /** Stable, so that code can branch on it. */
  readonly code = "unfinished_transaction";

  constructor() {
    super("the pool lent a client inside of a transaction: something releases clients unfinished");
  }
}

/** The server gave no answer, not even that it had ended the statement: it may have been committed. */
export class LostAnswerError extends Error {
  override readonly name = "LostAnswerError";
  /** Stable, so that code can branch on it. */
  readonly code = "lost_answer";
}

const QUERY_CANCELED = "57014";

/**
 * Runs one statement that commits by itself, until `deadline`: then the server ends it. Rejects also where
 * it was not committed. A connection that gives no answer is closed.
 */
export async function ask(
  pool: PostgresPool,
  limits: StatementLimits,
  deadline: Deadline,
  statement: string,
  values: unknown[],
): Promise<PostgresResult> {
  if (!lendsClients(pool)) {
    return within(deadline.remainingMs(), "pool.query", pool.query(statement, values));
  }
  const { client, query, release, close } = await connect(pool, deadline);
  const ms = deadline.remainingMs();
  try {
    // Several statements in one text are one transaction.
    const text = `${limits.settings(ms)};\n${inlined(statement, values)}`;
    const result = await query("the statement", clientTimeoutMs(ms), text);
    const status = client.getTransactionStatus?.();
    if (status === "T" || status === "E") throw new UnfinishedTransactionError();
    release();
    return lastResult(result);
  } catch (error) {
    // Where the server has ended it in time, the connection is as good as before: while a table is
    // locked, each call would otherwise open another.
    if (codeOf(error) === QUERY_CANCELED && client.getTransactionStatus?.() === "I") release();
    else await close(error);
    throw error instanceof DeadlineError
      ? new LostAnswerError(`${error.message}: the connection was closed`, { cause: error })
      : error;
  }
}

/** Not so a single client of pg, which has a `connect` of another meaning. */
function lendsClients(pool: PostgresPool): pool is PostgresTransactionPool {
  return "connect" in pool && "totalCount" in pool;
}

/** The SQLSTATE of an error of the server. */
export function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}
