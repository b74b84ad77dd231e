import { CallLimits, type Deadline } from "../call-limits.js";
import { DeadlineError, within } from "../../common/timers.js";
import type { MysqlConnection, MysqlPromisePool, MysqlQuery } from "./mysql-pool.js";

/** How long the server has to end a connection that was closed in the middle of a statement. */
const KILL_MS = 1_500;

/** Bits of the status that the server sends with each result that has no rows. */
const IN_TRANSACTION = 1;
const AUTOCOMMIT = 2;

/** The result of one statement. */
export interface MysqlResult {
  /** None for a statement that returns no rows. */
  readonly rows: readonly unknown[];
  /** Rows that were found or changed by an UPDATE: the pool decides which of the two. */
  readonly affectedRows: number;
  /** Whether a transaction is open after the statement. False for a statement with rows. */
  readonly isInTransaction: boolean;
  /** Whether the connection commits each statement by itself. True for a statement with rows. */
  readonly isAutocommit: boolean;
}

/** A connection of a pool, until it is released. */
export interface Connection<Client> {
  readonly client: Client;
  /** Rejects when the connection breaks, even while no statement runs on it, and when it is closed. */
  readonly broken: Promise<never>;
  /** Runs a statement of the store for at most `ms` milliseconds; `what` names it in the error. */
  readonly query: (what: string, ms: number, sql: string) => Promise<MysqlResult>;
  /** Returns the connection to its pool. */
  readonly release: () => void;
  /**
   * Closes the connection after `error`; the server then rolls back the open transaction. After a
   * `DeadlineError` a statement may still be running, which does not notice: the server is told to end it.
   */
  readonly close: (error: unknown) => Promise<void>;
}

/** Takes a connection out of `pool`. Rejects with a `DeadlineError` if none is free in time. */
export async function connect<Client extends MysqlConnection>(
  pool: { getConnection(): Promise<Client> },
  deadline: Pick<Deadline, "remainingMs">,
): Promise<Connection<Client>> {
  const client = await within(
    deadline.remainingMs(),
    "pool.getConnection",
    pool.getConnection(),
    (late: Client) => late.release(),
  );
  // Without a listener, a second error event would end the process.
  let onBreak: (error?: Error) => void = ignore;
  const broken = new Promise<never>((_, reject) => {
    onBreak = (error = new Error("the server closed the connection")) => reject(error);
  });
  // No one may be waiting for it, and an unhandled rejection would end the process.
  broken.catch(ignore);
  client.on("error", onBreak);
  client.on("end", onBreak);

  return {
    client,
    broken,
    query: async (what, ms, sql) => readResult(await within(ms, what, client.query(plain(sql)))),
    release() {
      client.off("error", onBreak);
      client.off("end", onBreak);
      client.release();
    },
    async close(error) {
      client.off("end", onBreak);
      // The listener for `error` stays: the network may report one more.
      client.destroy();
      // mysql2 does not settle the statement that was running.
      onBreak(new Error("the connection was closed", { cause: error }));
      if (error instanceof DeadlineError) await kill(pool, client.threadId);
    },
  };
}

/** Runs `work` on a connection, which is closed if it fails. */
export async function onConnection<T>(
  pool: MysqlPromisePool,
  work: (query: Connection<MysqlConnection>["query"]) => Promise<T>,
): Promise<T> {
  const { query, release, close } = await connect(pool, new CallLimits().deadline());
  try {
    const result = await work(query);
    release();
    return result;
  } catch (error) {
    await close(error);
    throw error;
  }
}

/** `sql` with the options that a pool can set differently and that the store relies on. */
function plain(sql: string): MysqlQuery {
  return { sql, rowsAsArray: false, nestTables: false, typeCast: true, namedPlaceholders: false };
}

function readResult([result]: readonly unknown[]): MysqlResult {
  if (Array.isArray(result)) {
    return { rows: result, affectedRows: 0, isInTransaction: false, isAutocommit: true };
  }
  const { affectedRows = 0, serverStatus = AUTOCOMMIT } = Object(result) as {
    affectedRows?: unknown;
    serverStatus?: number;
  };
  return {
    rows: [],
    // Text, if the pool has the option bigNumberStrings.
    affectedRows: Number(affectedRows),
    isInTransaction: (serverStatus & IN_TRANSACTION) !== 0,
    isAutocommit: (serverStatus & AUTOCOMMIT) !== 0,
  };
}

/**
 * Ends a connection on the server, which does not notice that its client is gone while it waits for a
 * lock, and keeps the locks of its transaction. Never rejects. Waits only for a short time: the pool may
 * have no other connection.
 */
async function kill(pool: MysqlPromisePool, threadId: number | null | undefined): Promise<void> {
  if (typeof threadId !== "number") return;
  const deadline = { remainingMs: () => KILL_MS };
  try {
    const { query, release, close } = await connect(pool, deadline);
    try {
      await query("KILL", KILL_MS, `KILL ${String(threadId)}`);
      release();
    } catch (error) {
      // Not as a DeadlineError: that would kill the connection of this KILL, and so on.
      await close({ cause: error });
    }
  } catch {
    // The server is away, or every connection of the pool is busy.
  }
}

function ignore(): void {
  // Each statement on the connection rejects by itself.
}
