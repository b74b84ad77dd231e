import { unfinishedTransaction, lostAnswerOf } from "../transaction-errors.js";
import { within } from "../../common/timers.js";
import { clientTimeoutMs, type Deadline } from "../call-limits.js";
import { connect, lastResult, type Connection } from "./connection.js";
import { isStatementEnded } from "./errors.js";
import type {
  PostgresClient,
  PostgresPool,
  PostgresResult,
  PostgresTransactionPool,
} from "./postgres-pool.js";
import type { PreparedStatements } from "./prepared-statements.js";
import { inlineParameters } from "./sql-text.js";
import type { StatementLimits } from "./statement-limits.js";

/** How a statement is run. */
export interface QueryOptions {
  readonly deadline: Deadline;
  /** The longest wait for one lock, in milliseconds. Without it a wait ends at the deadline. */
  readonly lockMs?: number | undefined;
  /** Runs the statement by its name. */
  readonly prepared?: PreparedStatements | undefined;
}

/**
 * Runs one statement that commits by itself. The server ends it at the deadline. Rejects if it was not
 * committed, and with an error with the code `lost_answer` if that is unknown; then the connection is closed. `lockMs` and
 * `prepared` need a pool that `isPool` accepts.
 */
export async function query(
  pool: PostgresPool,
  limits: StatementLimits,
  options: QueryOptions,
  statement: string,
  values: unknown[],
): Promise<PostgresResult> {
  const { deadline } = options;
  if (!isPool(pool)) {
    return within(deadline.remainingMs(), "pool.query", pool.query(statement, values));
  }
  const connection = await connect(pool, deadline);
  const { client } = connection;
  try {
    const result = await run(connection, limits, options, statement, values);
    const status = client.getTransactionStatus?.();
    if (status === "T" || status === "E") throw unfinishedTransaction();
    connection.release();
    return lastResult(result);
  } catch (error) {
    // If a connection were closed after each of these, every call would open another one while a table is
    // locked.
    if (isStatementEnded(error) && client.getTransactionStatus?.() === "I") connection.release();
    else await connection.close(error);
    throw lostAnswerOf(error);
  }
}

async function run(
  { client, query }: Connection<PostgresClient>,
  limits: StatementLimits,
  { deadline, lockMs, prepared }: QueryOptions,
  statement: string,
  values: unknown[],
): Promise<PostgresResult> {
  const send = (text: string): Promise<PostgresResult> => {
    const ms = deadline.remainingMs();
    // Several statements in one text are one transaction.
    return query("the statement", clientTimeoutMs(ms), `${limits.settings(ms, lockMs)};\n${text}`);
  };
  if (prepared !== undefined) {
    try {
      const result = await send(prepared.execute(client, statement, values));
      prepared.note(client, statement);
      return result;
    } catch (error) {
      if (!prepared.isWrong(client, statement, error)) throw error;
    }
  }
  return send(inlineParameters(statement, values));
}

/** False for a single client of pg, whose `connect` means something else. */
export function isPool(pool: PostgresPool): pool is PostgresTransactionPool {
  return "connect" in pool && "totalCount" in pool;
}
