import { DeadlineError } from "../../common/timers.js";
import { TransactionMisuseError } from "../transaction-misuse.js";
import { codeOf } from "./ask.js";
import { connect } from "./connection.js";
import { DURABLY } from "./durably.js";
import { inlined } from "./inlined.js";
import { lastResult } from "./last-result.js";
import { lend } from "./lent-client.js";
import type { PostgresClient } from "./postgres-pool.js";
import { clientTimeoutMs, type Deadline, type StatementLimits } from "./statement-limits.js";

/** A transaction that has begun. `commit` and `rollBack` end it and release its client. */
export interface Transaction<Client> {
  /** What its first statement answered. */
  readonly rows: readonly unknown[];
  /** Runs the handler's work in it. Rejects before the work has ended where the connection breaks. */
  run(work: (tx: Client) => Promise<void>): Promise<void>;
  /** Rejects where it did not commit, and where nobody knows whether it did. */
  commit(): Promise<void>;
  /** Never rejects: where nothing can be sent, the connection is closed, and the server rolls back. */
  rollBack(): Promise<void>;
  /**
   * After `rollBack` and after a failed `commit`: whether what was written in it can be committed only
   * because the handler ended it. It did, or nobody can tell, as the connection broke before ROLLBACK.
   */
  readonly mayBeEndedByHandler: boolean;
}

/** The handler had caught the error of a statement and gone on, so that COMMIT could only roll back. */
export class TransactionAbortedError extends Error {
  override readonly name = "TransactionAbortedError";
  /** Stable, so that code can branch on it. */
  readonly code = "transaction_aborted";

  constructor(cause?: unknown) {
    super("rolled back at COMMIT: a statement in the transaction had failed, and was not undone", {
      cause,
    });
  }
}

/** Gone with the transaction in which it was set: who finds it is in that very one. */
const SAVEPOINT = "identity_gateway_webhooks";

// NOT DEFERRABLE is the default, and is refused inside of a transaction that has done something: where
// something gives clients back unfinished, a BEGIN of its own would only go on with that.
const BEGIN = `BEGIN NOT DEFERRABLE; SAVEPOINT ${SAVEPOINT}`;
/** Holds the partner's own limit while ours is in its place: what the handler runs is not ours to limit. */
const PARTNERS_LIMIT = "identity_gateway_webhooks.statement_timeout";
const KEEP_LIMIT = `SELECT set_config('${PARTNERS_LIMIT}', current_setting('statement_timeout'), true)`;
const RESTORE_LIMIT = `SELECT set_config('statement_timeout', current_setting('${PARTNERS_LIMIT}'), true)`;
const COMMIT = `RELEASE SAVEPOINT ${SAVEPOINT}; SELECT ${DURABLY}; COMMIT`;
const ROLLBACK = `ROLLBACK TO SAVEPOINT ${SAVEPOINT}; ROLLBACK`;

/** A short limit of the receiver is no reason to close a connection that only has a slow server. */
const MIN_ROLLBACK_MS = 1_000;

const ACTIVE_TRANSACTION = "25001";
const NO_TRANSACTION = "25P01";
const ABORTED_TRANSACTION = "25P02";
const NO_SUCH_SAVEPOINT = "3B001";

/**
 * Begins a transaction on a client of `pool`, with a `statement` of ours. All of it has until `deadline`:
 * then the server ends it.
 */
export async function openTransaction<Client extends PostgresClient>(
  pool: { connect(): Promise<Client> },
  limits: StatementLimits,
  deadline: Deadline,
  statement: string,
  values: unknown[],
): Promise<Transaction<Client>> {
  const { client, broken, query, release, close } = await connect(pool, deadline);
  let mayBeEndedByHandler = false;

  /** Whether the server says that it was our transaction, and is rolled back. */
  const end = async (text: string): Promise<boolean> => {
    try {
      // It waits for no lock, but for the statements that a handler has left running. Half of the limit
      // leaves time to hang up on these, within what the receiver waits for.
      await query("ROLLBACK", Math.max(MIN_ROLLBACK_MS, limits.ms / 2), text);
    } catch (error) {
      if (isOutside(error)) await end("ROLLBACK");
      else await close(error);
      return false;
    }
    release();
    return true;
  };

  const begin = async (): Promise<readonly unknown[]> => {
    const ms = deadline.remainingMs();
    const text = [
      BEGIN,
      KEEP_LIMIT,
      limits.settings(ms),
      inlined(statement, values),
      RESTORE_LIMIT,
    ].join(";\n");
    try {
      return lastResult(await query("BEGIN", clientTimeoutMs(ms), text), 1).rows;
    } catch (error) {
      if (error instanceof DeadlineError) await close(error);
      else await end("ROLLBACK");
      throw codeOf(error) === ACTIVE_TRANSACTION ? unfinished(error) : error;
    }
  };

  return {
    rows: await begin(),

    async run(work) {
      const { tx, close } = lend(client);
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
        // Where it is the answer that was lost, our own COMMIT may have committed a success.
        mayBeEndedByHandler = isOutside(error);
        await end("ROLLBACK");
        if (mayBeEndedByHandler) throw endedByHandler(error);
        throw codeOf(error) === ABORTED_TRANSACTION ? new TransactionAbortedError(error) : error;
      }
      release();
      if (done !== "COMMIT") throw new TransactionAbortedError();
    },

    async rollBack() {
      mayBeEndedByHandler = !(await end(ROLLBACK));
    },

    get mayBeEndedByHandler() {
      return mayBeEndedByHandler;
    },
  };
}

/** Whether a statement about our savepoint found itself outside of our transaction. */
function isOutside(error: unknown): boolean {
  const code = codeOf(error);
  return code === NO_TRANSACTION || code === NO_SUCH_SAVEPOINT;
}

function endedByHandler(cause: unknown): Error {
  return new TransactionMisuseError("the handler ended the transaction of its delivery", { cause });
}

function unfinished(cause: unknown): Error {
  return new Error(
    "the pool lent a client inside of a transaction, which was rolled back: something gives clients back unfinished",
    { cause },
  );
}
