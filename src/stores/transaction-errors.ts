/**
 * The pool handed out a client that is inside a transaction, because other code released it without
 * COMMIT or ROLLBACK. Nothing that the store writes there would be committed. The connection is closed
 * and the delivery is answered 503. Fix the code that releases the client.
 */
export class UnfinishedTransactionError extends Error {
  override readonly name = "UnfinishedTransactionError";
  /** Stable, so that code can branch on it. */
  readonly code = "unfinished_transaction";

  constructor(options?: ErrorOptions) {
    super(
      "the pool handed out a client inside a transaction: other code releases clients without COMMIT or ROLLBACK",
      options,
    );
  }
}

/**
 * The server did not answer a statement, not even with the error that its time was over. The statement may
 * have been committed. The connection is closed and the delivery is answered 503.
 */
export class LostAnswerError extends Error {
  override readonly name = "LostAnswerError";
  /** Stable, so that code can branch on it. */
  readonly code = "lost_answer";
}

/**
 * The handler caught the error of a failed statement and went on, so COMMIT could only roll back. The
 * delivery is answered 503. Let the error pass. PostgreSQL: or run such a statement in a savepoint. MySQL:
 * this is so after a deadlock, which rolls the whole transaction back, and after a statement whose promise
 * the handler did not use: await every statement.
 */
export class TransactionAbortedError extends Error {
  override readonly name = "TransactionAbortedError";
  /** Stable, so that code can branch on it. */
  readonly code = "transaction_aborted";

  constructor(cause?: unknown) {
    super("rolled back at COMMIT: a statement in the transaction had failed, and was not undone", {
      cause,
    });
  }
}
