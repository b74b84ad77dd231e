import { within } from "../../deadline.js";
import type { PostgresClient, PostgresResult } from "./postgres-pool.js";

/**
 * How long one of our own statements may take, and how long a client is waited for. Beyond it the
 * connection is given up, so that a network that swallows everything does not empty the pool.
 */
const STATEMENT_TIMEOUT_MS = 10_000;

/** A transaction that has begun. `commit` and `rollBack` end it and give its client back. */
export interface Transaction<Client> {
  readonly client: Client;
  /** Runs a statement of ours in it. */
  query(text: string, values: unknown[]): Promise<PostgresResult>;
  /** Rejects where it did not commit, and where nobody knows whether it did. */
  commit(): Promise<void>;
  /** Never rejects: where nothing can be sent, the connection is closed, and the server rolls back. */
  rollBack(): Promise<void>;
}

/** The handler had caught the error of a statement and gone on, so that COMMIT could only roll back. */
class TransactionAbortedError extends Error {
  override readonly name = "TransactionAbortedError";

  constructor() {
    super("rolled back at COMMIT: a statement in the transaction had failed, and was not undone");
  }
}

/** Begins a transaction on a client of `pool`. */
export async function openTransaction<Client extends PostgresClient>(pool: {
  connect(): Promise<Client>;
}): Promise<Transaction<Client>> {
  const client = await bounded("pool.connect", pool.connect(), (late) => {
    late.release();
  });
  // A client that is lent has no listener of its pool. If the connection breaks while the handler waits
  // for something else, the event would end the process; the next statement fails all the same.
  const ignore = (): void => undefined;
  client.on("error", ignore);
  const giveBack = (unusable?: Error): void => {
    client.off("error", ignore);
    client.release(unusable);
  };

  const rollBack = async (): Promise<void> => {
    try {
      await bounded("ROLLBACK", client.query("ROLLBACK"));
    } catch (error) {
      giveBack(error instanceof Error ? error : new Error("ROLLBACK failed", { cause: error }));
      return;
    }
    giveBack();
  };

  const send = async (statement: "BEGIN" | "COMMIT"): Promise<string> => {
    try {
      return (await bounded(statement, client.query(statement))).command;
    } catch (error) {
      await rollBack();
      throw error;
    }
  };

  await send("BEGIN");
  return {
    client,
    query: (text, values) => bounded("the statement", client.query(text, values)),
    async commit() {
      const done = await send("COMMIT");
      giveBack();
      if (done !== "COMMIT") throw new TransactionAbortedError();
    },
    rollBack,
  };
}

function bounded<T>(what: string, work: Promise<T>, onLate?: (value: T) => void): Promise<T> {
  return within(STATEMENT_TIMEOUT_MS, what, work, onLate);
}
