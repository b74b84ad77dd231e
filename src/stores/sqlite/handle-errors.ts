/** A transaction that the store did not begin is open on its handle. Answered 503, so nothing is lost. */
export class HandleInTransactionError extends Error {
  override readonly name = "HandleInTransactionError";
  /** Stable, so that code can branch on it. */
  readonly code = "handle_in_transaction";

  constructor(cause: unknown) {
    super(
      "a transaction is open on the database handle, and what it rolls back would be forgotten: " +
        "give the store a handle of its own",
      { cause },
    );
  }
}

/** The application has closed the store's handle. Answered 503, so nothing is lost. */
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

/** In the words of better-sqlite3, and of node:sqlite for a handle and for a statement of it. */
const CLOSED = /database (?:connection )?is not open|statement has been finalized/;

/** Names what is wrong with the handle. Any other error of the driver is returned as it is. */
export function namedHandleError(error: unknown): unknown {
  const text = String(error);
  if (text.includes("within a transaction")) return new HandleInTransactionError(error);
  if (CLOSED.test(text)) return new HandleClosedError(error);
  return error;
}
