import {
  endedByHandler,
  unfinishedTransaction,
  transactionAborted,
} from "../transaction-errors.js";
import { hasCode } from "../../common/errors.js";
import { clientTimeoutMs, type CallLimits, type Deadline } from "../call-limits.js";
import { connect, type Connection, type MysqlResult } from "./connection.js";
import { ERRNO, errnoOf, isConflict, isWaitOver } from "./errors.js";
import { guardConnection } from "./guarded-connection.js";
import type { MysqlConnection } from "./mysql-pool.js";
import { limited } from "./sql-text.js";

/** A savepoint ends with its transaction, so RELEASE finds it only in the same transaction. */
const SAVEPOINT = "identity_gateway_webhooks";
/** Without these words the variable `completion_type` could begin another transaction. */
const ENDING = "AND NO CHAIN NO RELEASE";

/** With a very short `dependencyTimeoutMs`, a slow server alone must not cost the connection. */
const MIN_ROLLBACK_MS = 1_000;

/**
 * A connection for one transaction. It has no open transaction until `begin`. `commit` and `rollBack` end
 * it and return the connection.
 */
export class Transaction<Client extends MysqlConnection> {
  readonly #connection: Connection<Client>;
  readonly #limits: CallLimits;
  readonly #deadline: Deadline;
  /** Whether the connection is to commit each statement by itself when it is returned. */
  readonly #wasAutocommit: boolean;
  #isOpen = false;
  #conflict: () => unknown = () => undefined;
  #unseenError: () => unknown = () => undefined;

  private constructor(
    connection: Connection<Client>,
    limits: CallLimits,
    deadline: Deadline,
    wasAutocommit: boolean,
  ) {
    this.#connection = connection;
    this.#limits = limits;
    this.#deadline = deadline;
    this.#wasAutocommit = wasAutocommit;
  }

  /** Takes a connection out of `pool`. All statements before the handler must end before `deadline`. */
  static async open<Client extends MysqlConnection>(
    pool: { getConnection(): Promise<Client> },
    limits: CallLimits,
    deadline: Deadline,
  ): Promise<Transaction<Client>> {
    const connection = await connect(pool, deadline);
    const query = (sql: string): Promise<MysqlResult> =>
      connection.query(sql, clientTimeoutMs(deadline.remainingMs()), sql);
    try {
      // The status in its answer tells how other code has left the connection.
      const { isInTransaction, isAutocommit } = await query("DO 0");
      if (isInTransaction && isAutocommit) throw unfinishedTransaction();
      if (isInTransaction) await query(`ROLLBACK ${ENDING}`);
      return new Transaction(connection, limits, deadline, isAutocommit);
    } catch (error) {
      await connection.close(error);
      throw error;
    }
  }

  /** Runs one statement of the store, for at most `ms` milliseconds and not beyond the deadline. */
  async query(sql: string, ms = Infinity): Promise<MysqlResult> {
    const limit = Math.min(ms, this.#deadline.remainingMs());
    return this.#connection.query("the statement", clientTimeoutMs(limit), limited(sql, limit));
  }

  /**
   * Runs a SELECT before `begin` that sees only what is committed, and waits for no row. At READ UNCOMMITTED it would
   * take a completion for done that may yet be rolled back; at SERIALIZABLE with autocommit off it would lock.
   */
  async queryCommitted(sql: string): Promise<MysqlResult> {
    // With autocommit off the statements before are an open transaction, which keeps its level.
    if (!this.#wasAutocommit) await this.#sendInTime(`ROLLBACK ${ENDING}`);
    await this.#sendInTime("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    return this.query(sql);
  }

  /**
   * From now on all statements are one transaction. With autocommit off, not even a statement that follows
   * a deadlock or an implicit COMMIT commits by itself.
   */
  async begin(): Promise<void> {
    // With autocommit off already, the statements before are an open transaction with a snapshot.
    this.#isOpen = true;
    await this.#sendInTime(this.#wasAutocommit ? "SET autocommit = 0" : `ROLLBACK ${ENDING}`);
  }

  async setSavepoint(): Promise<void> {
    await this.#sendInTime(`SAVEPOINT ${SAVEPOINT}`);
  }

  /** Runs the handler's work in it. If the connection breaks, rejects before the work has ended. */
  async run(work: (tx: Client) => Promise<void>): Promise<void> {
    const { client, broken } = this.#connection;
    const { tx, close, conflict, unseenError } = guardConnection(client, broken);
    this.#conflict = conflict;
    this.#unseenError = unseenError;
    try {
      await Promise.race([work(tx), broken]);
    } finally {
      close();
    }
  }

  /**
   * Runs `statement`, which must change a row, and commits, if this is still the transaction of the
   * savepoint. Rejects if it did not commit, and if that is unknown.
   */
  async commit(statement: string): Promise<void> {
    const { ms } = this.#limits;
    const send = (sql: string): Promise<MysqlResult> =>
      this.#send(sql, clientTimeoutMs(ms), "COMMIT");
    try {
      await send(`RELEASE SAVEPOINT ${SAVEPOINT}`);
      // Statements that the handler did not await have been answered before this one.
      const unseen = this.#unseenError();
      if (unseen !== undefined) throw transactionAborted(unseen);
      const { affectedRows } = await send(limited(statement, ms));
      if (affectedRows === 0) throw endedByHandler();
      await send(`COMMIT ${ENDING}`);
    } catch (error) {
      const isEnded = errnoOf(error) === ERRNO.noSuchSavepoint;
      if (isEnded || hasCode(error, "transaction_aborted")) await this.rollBack();
      else await this.abandon(error);
      throw isEnded ? this.#endedBy(error) : error;
    }
    await this.#return(clientTimeoutMs(ms));
  }

  /** Never rejects: if nothing can be sent, it closes the connection, and the server rolls back. */
  async rollBack(): Promise<void> {
    // ROLLBACK waits for no lock, but for statements that the handler left running. Half of the limit
    // leaves enough time to close the connection on these before the receiver stops waiting.
    const ms = Math.max(MIN_ROLLBACK_MS, this.#limits.ms / 2);
    try {
      await this.#send(`ROLLBACK ${ENDING}`, ms);
    } catch (error) {
      await this.#connection.close(error);
      return;
    }
    await this.#return(ms);
  }

  /**
   * Ends it after `error`, the failure of a statement of the store. Never rejects. Only a conflict leaves a
   * connection that is worth keeping: one to a server that became read-only must not go back to the pool.
   */
  async abandon(error: unknown): Promise<void> {
    if (isConflict(error) || isWaitOver(error)) await this.rollBack();
    else await this.#connection.close(error);
  }

  #sendInTime(sql: string): Promise<MysqlResult> {
    return this.#send(sql, clientTimeoutMs(this.#deadline.remainingMs()));
  }

  #send(sql: string, ms: number, what = sql): Promise<MysqlResult> {
    return this.#connection.query(what, ms, sql);
  }

  /** Returns the connection as it was. Never rejects. */
  async #return(ms: number): Promise<void> {
    try {
      if (this.#isOpen && this.#wasAutocommit) await this.#send("SET autocommit = 1", ms);
    } catch (error) {
      await this.#connection.close(error);
      return;
    }
    this.#connection.release();
  }

  #endedBy(cause: unknown): Error {
    const conflict = this.#conflict();
    return conflict === undefined ? endedByHandler(cause) : transactionAborted(conflict);
  }
}
