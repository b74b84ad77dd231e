import { within } from "../../deadline.js";
import type { PostgresClient, PostgresResult } from "./postgres-pool.js";

/**
 * How long one of our own statements may take, and how long a client is waited for. Beyond it the
 * connection is given up, so that a network that swallows everything does not empty the pool.
 */
const STATEMENT_TIMEOUT_MS = 10_000;

/** A client of a pool, until it is given back. */
export interface Connection<Client> {
  readonly client: Client;
  /** Rejects when the connection breaks, even while nothing is asked of it. */
  readonly broken: Promise<never>;
  /** Runs a statement of ours, which is called `what` where it takes too long. */
  readonly query: (what: string, text: string, values?: unknown[]) => Promise<PostgresResult>;
  /** With an error, the connection is closed, and the server rolls back what is open on it. */
  readonly giveBack: (unusable?: Error) => void;
}

/** Takes a client out of `pool`. */
export async function connect<Client extends PostgresClient>(pool: {
  connect(): Promise<Client>;
}): Promise<Connection<Client>> {
  const client = await bounded("pool.connect", pool.connect(), (late) => {
    late.release();
  });
  // A client that is lent has no listener of its pool: without one, the event would end the process.
  let onError: (error: Error) => void = ignore;
  const broken = new Promise<never>((_, reject) => {
    onError = reject;
  });
  // Where nobody waits for it.
  broken.catch(ignore);
  client.on("error", onError);

  return {
    client,
    broken,
    query: (what, text, values) => bounded(what, client.query(text, values)),
    giveBack(unusable) {
      client.off("error", onError);
      client.release(unusable);
    },
  };
}

/** `work`, but no longer than a statement may take. */
export function bounded<T>(
  what: string,
  work: Promise<T>,
  onLate?: (value: T) => void,
): Promise<T> {
  return within(STATEMENT_TIMEOUT_MS, what, work, onLate);
}

function ignore(): void {
  // Whoever asks something of the connection is told.
}
