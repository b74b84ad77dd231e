import { DeadlineError, within } from "../../common/timers.js";
import type { PostgresClient, PostgresResult } from "./postgres-pool.js";
import { HANG_UP_NOTICED_MS, type Deadline } from "./statement-limits.js";

/** A client of a pool, until it is released. */
export interface Connection<Client> {
  readonly client: Client;
  /** Rejects when the connection breaks, even while no statement runs on it. */
  readonly broken: Promise<never>;
  /** Runs a statement of ours for `ms` milliseconds at most; `what` names it in the error. */
  readonly query: (what: string, ms: number, text: string) => Promise<PostgresResult>;
  /** Returns the client to its pool. */
  readonly release: () => void;
  /**
   * Closes the connection after `error`, and the server rolls back what is open on it. Where no answer
   * came, resolves only when the server has noticed: until then the client keeps its place in the pool,
   * so that the server never has more connections than the pool may have.
   */
  readonly close: (error: unknown) => Promise<void>;
}

/** Takes a client out of `pool`. Rejects with a `DeadlineError` when there is none in time. */
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
  // The pool does not listen to a client that is checked out: without a listener, the event would end
  // the process.
  let onError: (error: Error) => void = ignore;
  const broken = new Promise<never>((_, reject) => {
    onError = reject;
  });
  // Where nothing waits for it.
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
      release(new Error("the connection is of no use any more", { cause: error }));
    },
  };
}

/** Closes the connection, and waits until the server has noticed. */
async function hangUp(client: PostgresClient): Promise<void> {
  // Not awaited: where a network swallows everything, the end may never come.
  Promise.resolve(client.end?.()).catch(ignore);
  await new Promise((resolve) => {
    setTimeout(resolve, HANG_UP_NOTICED_MS);
  });
}

function ignore(): void {
  // Each statement on the connection rejects by itself.
}
