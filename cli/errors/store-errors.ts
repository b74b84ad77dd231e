import { oneCode, type ErrorTable } from "./error-causes.js";

const SQL = ["…/postgres", "…/mysql"];

/** Errors of the stores. Each is in the report of a `store_unavailable` unless its entry says otherwise. */
export const STORE_ERRORS: ErrorTable = {
  RedisUnavailableError: oneCode(
    ["…/redis"],
    "`store_unavailable`: there is no connection to Redis, or 10 000 calls already wait for it",
    "redis_unavailable",
    {
      meaning: "The command was not sent to Redis.",
      causes: [
        "Redis is down or not reachable from here: check host, port, password and TLS of the client",
        "the client was never connected, or was closed: call connect() at the start, and close it after receiver.drain()",
        "Redis answers too slowly, so calls pile up: see its slow log",
      ],
    },
  ),
  ForeignReplyError: oneCode(
    ["…/redis"],
    "`store_unavailable`: the client mixed up its replies, so none can be trusted; reconnect it",
    "foreign_reply",
    {
      meaning: "The Redis client returned the reply to another command.",
      causes: [
        "a bug of the client or of a proxy between it and Redis: reconnect the client now, then update it",
      ],
    },
  ),
  LostAnswerError: oneCode(
    SQL,
    "`store_unavailable`: the server did not answer a statement, so the connection was closed",
    "lost_answer",
    {
      meaning: "The database did not answer a statement, which it may have committed.",
      causes: [
        "the network or a firewall dropped the connection silently: the gateway's retry settles it; look for idle time limits on the way",
        "the server hangs: see its own log",
      ],
    },
  ),
  TransactionAbortedError: oneCode(
    SQL,
    "`store_unavailable`: the handler went on after a failed statement (MySQL: a deadlock, or a statement without `await`), so nothing was committed",
    "transaction_aborted",
    {
      meaning: "The transaction could only be rolled back, because a statement in it had failed.",
      causes: [
        "the handler caught the error of a statement and went on: let the error pass",
        "PostgreSQL: a statement that may fail, such as an INSERT of a known row: use ON CONFLICT or a savepoint",
        "MySQL: a deadlock, which rolls the whole transaction back: let the error pass",
        "MySQL: a statement without await, whose error the handler could not see: await every statement",
      ],
    },
  ),
  UnfinishedTransactionError: oneCode(
    SQL,
    "`store_unavailable`: the pool handed out a client with an open transaction; find the code that releases a client before COMMIT or ROLLBACK",
    "unfinished_transaction",
    {
      meaning: "The pool handed out a client that is inside a transaction of other code.",
      causes: [
        "code of yours releases a client before COMMIT or ROLLBACK: release it in a finally after ROLLBACK",
        "BEGIN is sent with pool.query, which uses any client: use pool.connect() for transactions",
      ],
    },
  ),
  TransactionMisuseError: oneCode(
    [...SQL, "…/sqlite"],
    "the handler ended `tx` itself, or used it after it had settled",
    "transaction_misuse",
    {
      meaning: "The handler used tx for something that only the store may do, or too late.",
      causes: [
        "a promise that the handler started was not awaited, and used tx after the handler had settled: await it",
        "the handler sends COMMIT or ROLLBACK: leave both to the store, and throw to roll back",
      ],
    },
  ),
  TransactionEndedError: oneCode(
    ["…/sqlite"],
    "`store_unavailable`: the handler ended the transaction of its delivery",
    "transaction_ended",
    {
      meaning: "The transaction of the delivery was ended by its handler.",
      causes: [
        "the handler runs COMMIT or ROLLBACK: leave both to the store, and throw to roll back",
        "a statement with ON CONFLICT ROLLBACK: use ABORT, the default",
      ],
    },
  ),
  WaitTimeoutError: oneCode(
    ["…/sqlite"],
    "`store_unavailable`: the writes of other deliveries of this process took longer than `waitTimeoutMs`",
    "wait_timeout",
    {
      meaning: "A call waited too long for the writes of other deliveries.",
      causes: [
        "a handler waits for something slow inside its transaction, and SQLite has one writer: do the waiting before or after it",
        "another process holds the write lock: shorten its transactions",
      ],
    },
  ),
  HandleClosedError: oneCode(
    ["…/sqlite"],
    "`store_unavailable`: the database handle of the store is closed",
    "handle_closed",
    {
      meaning: "The database handle of the store is closed.",
      causes: [
        "the handle is closed at shutdown before the receiver is drained: close it after drain()",
      ],
    },
  ),
  HandleInTransactionError: oneCode(
    ["…/sqlite"],
    "`store_unavailable`: a transaction is open on the handle of the store",
    "handle_in_transaction",
    {
      meaning: "A transaction that the store did not begin is open on its handle.",
      causes: ["the application uses the same handle: give the store a handle of its own"],
    },
  ),
  MissingTableError: oneCode(
    ["…/cloudflare"],
    "`store_unavailable`: the database has no table of deliveries; apply the migration to it, with `--remote`",
    "missing_table",
    {
      meaning: "The D1 database has no table of deliveries.",
      causes: [
        "the migration was applied to the local database only: wrangler d1 migrations apply <database> --remote",
        "the Worker is bound to another database: compare database_id",
      ],
    },
  ),
};
