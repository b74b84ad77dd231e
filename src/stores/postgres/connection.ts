import { DeadlineError, within } from "../../common/timers.js";
import type { Deadline } from "../call-limits.js";
import type { PostgresClient, PostgresResult } from "./postgres-pool.js";
import { HANG_UP_NOTICED_MS } from "./statement-limits.js";

/** A client of a pool, until it is released. */
export interface Connection<Client> {
  readonly client: Client;
  /** Rejects when the connection breaks, even while no statement runs on it. */
  readonly broken: Promise<never>;
  /** Runs a statement of the store for at most `ms` milliseconds; `what` names it in the error. */
  readonly query: (what: string, ms: number, text: string) => Promise<PostgresResult>;
  /** Returns the client to its pool. */
  readonly release: () => void;
  /**
   * Closes the connection after `error`; the server then rolls back the open transaction. After a
   * `DeadlineError` it resolves only when the server has noticed. The client keeps its place in the pool
   * until then, so the server never has more connections than the pool allows.
   */
  readonly close: (error: unknown) => Promise<void>;
}

/** Takes a client out of `pool`. Rejects with a `DeadlineError` if none is free in time. */
export async function connect<Client extends PostgresClient>(
  pool: { connect(): Promise<Client> },
  deadline: Deadline,
): Promise<Connection<Client>> {
  const client = await within(
    deadline.remainingMs(),
    "pool.connect",
    pool.connect(),
    (late: Client) => {
      late.release();
    },
  );
  // The pool does not listen to a client that is checked out. Without a listener, its error event would
  // end the process.
  let onError: (error: Error) => void = ignore;
  const broken = new Promise<never>((_, reject) => {
    onError = reject;
  });
  // No one may be waiting for it, and an unhandled rejection would end the process.
  broken.catch(ignore);
  client.on("error", onError);

  const release = (unusable?: Error): void => {
    client.off("error", onError);
    client.release(unusable);
  };

  return {
    client,
    broken,
    query: (what, ms, text) => within(ms, what, client.query(text)),
    release,
    async close(error) {
      if (error instanceof DeadlineError) await hangUp(client);
      release(new Error("the connection cannot be used again", { cause: error }));
    },
  };
}

/** Closes the connection, and waits until the server has noticed. */
async function hangUp(client: PostgresClient): Promise<void> {
  // Not awaited: on a network that drops every packet it may never resolve.
  Promise.resolve(client.end?.()).catch(ignore);
  await new Promise((resolve) => {
    setTimeout(resolve, HANG_UP_NOTICED_MS);
  });
}

function ignore(): void {
  // Each statement on the connection rejects by itself.
}

/**
 * The result of the last statement of a text, or of a statement `before` it: 1 is the last but one. pg
 * returns an array for several statements and a single result for one.
 */
export function lastResult(
  results: PostgresResult | readonly PostgresResult[],
  before = 0,
): PostgresResult {
  const result = "command" in results ? results : results.at(-1 - before);
  if (result === undefined) throw new TypeError("the client returned no result of the statement");
  return result;
}
