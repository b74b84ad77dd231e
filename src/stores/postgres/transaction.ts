import { TransactionMisuseError } from "../transaction-misuse.js";
import { connect } from "./connection.js";
import { DURABLY } from "./durably.js";
import { lend } from "./lent-client.js";
import type { PostgresClient, PostgresResult } from "./postgres-pool.js";

/** A transaction that has begun. `commit` and `rollBack` end it and give its client back. */
export interface Transaction<Client> {
  /** Runs a statement of ours in it. */
  query(text: string, values: unknown[]): Promise<PostgresResult>;
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
class TransactionAbortedError extends Error {
  override readonly name = "TransactionAbortedError";

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
const COMMIT = `RELEASE SAVEPOINT ${SAVEPOINT}; SELECT ${DURABLY}; COMMIT`;
const ROLLBACK = `ROLLBACK TO SAVEPOINT ${SAVEPOINT}; ROLLBACK`;

const ACTIVE_TRANSACTION = "25001";
const NO_TRANSACTION = "25P01";
const ABORTED_TRANSACTION = "25P02";
const NO_SUCH_SAVEPOINT = "3B001";

/** Begins a transaction on a client of `pool`. */
export async function openTransaction<Client extends PostgresClient>(pool: {
  connect(): Promise<Client>;
}): Promise<Transaction<Client>> {
  const { client, broken, query, giveBack } = await connect(pool);
  let mayBeEndedByHandler = false;

  /** Whether the server says that it was our transaction, and is rolled back. */
  const end = async (statement: string): Promise<boolean> => {
    try {
      await query("ROLLBACK", statement);
    } catch (error) {
      if (isOutside(error)) await end("ROLLBACK");
      else giveBack(new Error("ROLLBACK failed", { cause: error }));
      return false;
    }
    giveBack();
    return true;
  };

  try {
    await query("BEGIN", BEGIN);
  } catch (error) {
    await end("ROLLBACK");
    throw codeOf(error) === ACTIVE_TRANSACTION ? unfinished(error) : error;
  }

  return {
    query: (text, values) => query("the statement", text, values),

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
        done = lastCommand(await query("COMMIT", COMMIT));
      } catch (error) {
        // Where it is the answer that was lost, our own COMMIT may have committed a success.
        mayBeEndedByHandler = isOutside(error);
        await end("ROLLBACK");
        if (mayBeEndedByHandler) throw endedByHandler(error);
        throw codeOf(error) === ABORTED_TRANSACTION ? new TransactionAbortedError(error) : error;
      }
      giveBack();
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

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

/** Of several statements sent as one text, pg answers an array. */
function lastCommand(answer: PostgresResult | readonly PostgresResult[]): string | undefined {
  return "command" in answer ? answer.command : answer.at(-1)?.command;
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
