import { unfinishedTransaction, lostAnswerOf } from "../transaction-errors.js";
import { DeadlineError, within } from "../../common/timers.js";
import { clientTimeoutMs, type Deadline } from "../call-limits.js";
import { isStatementEnded } from "./errors.js";
import type {
  PostgresClient,
  PostgresPool,
  PostgresResult,
  PostgresTransactionPool,
} from "./postgres-pool.js";
import type { PreparedStatements } from "./prepared-statements.js";
import { inlineParameters } from "./sql-text.js";
import { HANG_UP_NOTICED_MS, type StatementLimits } from "./statement-limits.js";

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
  let onError: (error: Error) => void = ignore;
  const broken = new Promise<never>((_, reject) => {
    onError = reject;
  });
  // No one may be waiting for it, and an unhandled rejection would end the process.
  broken.catch(ignore);
  const giveBack = (taken: Client, unusable?: Error): void => {
    taken.off("error", onError);
    taken.release(unusable);
  };
  const taking = takeClient(pool, (taken) => taken.on("error", onError));
  const client = await within(deadline.remainingMs(), "pool.connect", taking, giveBack);
  const release = (unusable?: Error): void => giveBack(client, unusable);

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

/** A pool as pg has it: its `connect` returns nothing if it has a callback. */
interface CallbackPool<Client> {
  connect(
    callback: (error: Error | undefined, client?: Client) => void,
  ): Partial<PromiseLike<Client>> | undefined;
}

/**
 * Takes a client, and calls `listen` before the pool's call returns. The pool does not listen to a client that is
 * checked out, and an error event without a listener ends the process. A promise of the client would come a
 * microtask too late for a connection that the server ends in the moment in which it becomes ready.
 */
function takeClient<Client>(
  pool: { connect(): Promise<Client> },
  listen: (client: Client) => void,
): Promise<Client> {
  return new Promise((resolve, reject) => {
    let isTaken = false;
    const take = (client: Client): void => {
      if (!isTaken) listen(client);
      isTaken = true;
      resolve(client);
    };
    const given = (pool as unknown as CallbackPool<Client>).connect((error, client) => {
      if (client === undefined) reject(error ?? new TypeError("pool.connect gave no client"));
      else take(client);
    });
    // A wrapper of a pool may know the promise alone.
    void given?.then?.(take, reject);
  });
}

/** Closes the connection, and waits until the server has noticed. */
async function hangUp(client: PostgresClient): Promise<void> {
  // Not awaited: on a network that drops every packet it may never resolve.
  Promise.resolve(client.end?.()).catch(ignore);
  await new Promise((resolve) => setTimeout(resolve, HANG_UP_NOTICED_MS));
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
