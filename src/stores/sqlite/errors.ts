/**
 * A transaction that the store did not begin is open on its handle. The call fails and the delivery is
 * answered 503, so nothing is lost. Give the store a handle of its own.
 */
export class HandleInTransactionError extends Error {
  override readonly name = "HandleInTransactionError";
  /** Stable, so that code can branch on it. */
  readonly code = "handle_in_transaction";

  constructor(cause: unknown) {
    super(
      "a transaction is open on the database handle, and its rollback would undo the store's writes: " +
        "give the store a handle of its own",
      { cause },
    );
  }
}

/**
 * The application has closed the store's handle. The call fails and the delivery is answered 503, so
 * nothing is lost. Close the handle after `receiver.drain()` has resolved.
 */
export class HandleClosedError extends Error {
  override readonly name = "HandleClosedError";
  /** Stable, so that code can branch on it. */
  readonly code = "handle_closed";

  constructor(cause: unknown) {
    super("the database handle is not open: close it after receiver.drain() has resolved", {
      cause,
    });
  }
}

/**
 * A call waited longer than `waitTimeoutMs` for the writes of other deliveries of this process. It wrote
 * nothing, and the delivery is answered 503.
 */
export class WaitTimeoutError extends Error {
  override readonly name = "WaitTimeoutError";
  /** Stable, so that code can branch on it. */
  readonly code = "wait_timeout";

  constructor(timeoutMs: number) {
    super(`the writes of other deliveries took longer than ${timeoutMs} ms (waitTimeoutMs)`);
  }
}

/**
 * The handler ended the transaction of its delivery, so it is unknown which of its writes are in the file.
 * The delivery is not remembered, and the gateway sends it again.
 */
export class TransactionEndedError extends Error {
  override readonly name = "TransactionEndedError";
  /** Stable, so that code can branch on it. */
  readonly code = "transaction_ended";

  constructor(cause: unknown) {
    super(
      "the handler ended the transaction of its delivery: leave COMMIT and ROLLBACK to the store, and " +
        "throw to roll back",
      { cause },
    );
  }
}

/** The messages of better-sqlite3, of `node:sqlite` for a handle and a statement, and of `bun:sqlite`. */
const CLOSED =
  /database (?:connection )?is not open|statement has been finalized|database has closed|closed database/i;

/** The error that names what is wrong with the handle. Any other error is returned unchanged. */
export function namedHandleError(error: unknown): unknown {
  const text = String(error);
  if (text.includes("within a transaction")) return new HandleInTransactionError(error);
  if (CLOSED.test(text)) return new HandleClosedError(error);
  return error;
}
