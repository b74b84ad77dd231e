import {
  endedByHandler,
  unfinishedTransaction,
  transactionAborted,
} from "../transaction-errors.js";
import { DeadlineError } from "../../common/timers.js";
import { clientTimeoutMs, type Deadline } from "../call-limits.js";
import { connect, lastResult } from "./query.js";
import { isStatementEnded, SQLSTATE, sqlStateOf } from "./errors.js";
import { guardClient } from "./guarded-client.js";
import type { PostgresClient } from "./postgres-pool.js";
import type { PreparedStatements } from "./prepared-statements.js";
import { inlineParameters, SYNCHRONOUS_COMMIT } from "./sql-text.js";
import type { StatementLimits } from "./statement-limits.js";

/** A transaction that has begun. `commit` and `rollBack` end it and release its client. */
export interface Transaction<Client> {
  /** The rows of its first statement. */
  readonly rows: readonly unknown[];
  /** Runs another statement of the store, before the same deadline, and with its limit. */
  query(statement: string, values: unknown[]): Promise<readonly unknown[]>;
  /** Runs the handler's work in it. If the connection breaks, rejects before the work has ended. */
  run(work: (tx: Client) => Promise<void>): Promise<void>;
  /** Rejects if it did not commit, and if that is unknown. */
  commit(): Promise<void>;
  /** Never rejects: if nothing can be sent, it closes the connection, and the server rolls back. */
  rollBack(): Promise<void>;
  /**
   * Set by `rollBack` and by a failed `commit`: whether the handler ended the transaction, or may have,
   * because the connection broke before ROLLBACK. In both cases the store's row may be committed.
   */
  readonly mayBeEndedByHandler: boolean;
}

/** A savepoint ends with its transaction, so a statement that finds it runs in the same transaction. */
const SAVEPOINT = "identity_gateway_webhooks";

// NOT DEFERRABLE is the default. The server refuses it inside a transaction that has run a statement. A
// bare BEGIN would go on with the transaction of a client that was released unfinished.
const BEGIN = `BEGIN NOT DEFERRABLE; SAVEPOINT ${SAVEPOINT}`;
/**
 * Keeps the application's own statement_timeout while that of the store is set. The handler's statements
 * run with the application's.
 */
const APPLICATION_LIMIT = "identity_gateway_webhooks.statement_timeout";
const KEEP_LIMIT = `set_config('${APPLICATION_LIMIT}', current_setting('statement_timeout'), true)`;
const RESTORE_LIMIT = `SELECT set_config('statement_timeout', current_setting('${APPLICATION_LIMIT}'), true)`;
const COMMIT = `RELEASE SAVEPOINT ${SAVEPOINT}; SELECT ${SYNCHRONOUS_COMMIT}; COMMIT`;
const ROLLBACK = `ROLLBACK TO SAVEPOINT ${SAVEPOINT}; ROLLBACK`;

/** With a very short `dependencyTimeoutMs`, a slow server alone must not cost the connection. */
const MIN_ROLLBACK_MS = 1_000;

/** The first statement of a transaction, and its limits. */
export interface Opening {
  readonly limits: StatementLimits;
  readonly deadline: Deadline;
  /** Runs the statement by its name. */
  readonly prepared: PreparedStatements | undefined;
  readonly statement: string;
  readonly values: unknown[];
}

/** Begins a transaction on a client of `pool`, and runs its first statement, both before the deadline. */
export async function openTransaction<Client extends PostgresClient>(
  pool: { connect(): Promise<Client> },
  { limits, deadline, prepared, statement, values }: Opening,
): Promise<Transaction<Client>> {
  const { client, broken, query, release, close } = await connect(pool, deadline);
  let mayBeEndedByHandler = false;

  /** Resolves to whether the server confirmed that our transaction is rolled back. */
  const end = async (text: string): Promise<boolean> => {
    try {
      // ROLLBACK waits for no lock, but for statements that the handler left running. Half of the limit
      // leaves enough time to close the connection on these before the receiver stops waiting.
      await query("ROLLBACK", Math.max(MIN_ROLLBACK_MS, limits.ms / 2), text);
    } catch (error) {
      if (isOutside(error)) await end("ROLLBACK");
      else await close(error);
      return false;
    }
    release();
    return true;
  };

  const send = async (first: string, before = ""): Promise<readonly unknown[]> => {
    const ms = deadline.remainingMs();
    const text = [
      before + BEGIN,
      `SELECT ${KEEP_LIMIT}, ${limits.settingCalls(ms)}`,
      first,
      RESTORE_LIMIT,
    ].join(";\n");
    return lastResult(await query("BEGIN", clientTimeoutMs(ms), text), 1).rows;
  };

  const sendPrepared = async (statements: PreparedStatements): Promise<readonly unknown[]> => {
    try {
      const rows = await send(statements.execute(client, statement, values));
      statements.note(client, statement);
      return rows;
    } catch (error) {
      if (!statements.isWrong(client, statement, error)) throw error;
      return send(inlineParameters(statement, values), "ROLLBACK; ");
    }
  };

  const begin = async (): Promise<readonly unknown[]> => {
    try {
      if (prepared !== undefined) return await sendPrepared(prepared);
      return await send(inlineParameters(statement, values));
    } catch (error) {
      const isUnfinished = sqlStateOf(error) === SQLSTATE.activeTransaction;
      // One to a server that became read-only must not go back to the pool, which would give it out again.
      if (isUnfinished || isStatementEnded(error) || limits.mayRetry(error)) await end("ROLLBACK");
      else await close(error);
      throw isUnfinished ? unfinishedTransaction({ cause: error }) : error;
    }
  };

  return {
    rows: await begin(),

    async query(next, parameters) {
      const ms = deadline.remainingMs();
      const text = [limits.settings(ms), inlineParameters(next, parameters), RESTORE_LIMIT];
      return lastResult(await query("the statement", clientTimeoutMs(ms), text.join(";\n")), 1)
        .rows;
    },

    async run(work) {
      const { tx, close } = guardClient(client);
      try {
        await Promise.race([work(tx), broken]);
      } finally {
        close();
      }
    },

    async commit() {
      let done: string | undefined;
      try {
        const answers = await query("COMMIT", clientTimeoutMs(limits.ms), COMMIT);
        done = [answers].flat().at(-1)?.command;
      } catch (error) {
        if (error instanceof DeadlineError) {
          await close(error);
          throw error;
        }
        // If only the answer was lost, our own COMMIT may have committed a success: then it stays.
        mayBeEndedByHandler = isOutside(error);
        await end("ROLLBACK");
        if (mayBeEndedByHandler) throw endedByHandler(error);
        throw sqlStateOf(error) === SQLSTATE.abortedTransaction ? transactionAborted(error) : error;
      }
      release();
      if (done !== "COMMIT") throw transactionAborted();
    },

    async rollBack() {
      mayBeEndedByHandler = !(await end(ROLLBACK));
    },

    get mayBeEndedByHandler() {
      return mayBeEndedByHandler;
    },
  };
}

/** Whether a statement on our savepoint ran outside our transaction. */
function isOutside(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code === SQLSTATE.noTransaction || code === SQLSTATE.noSuchSavepoint;
}
