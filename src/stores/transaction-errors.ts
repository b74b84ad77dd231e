import { GatewayWebhookError } from "../common/errors.js";
import { DeadlineError } from "../common/timers.js";

/** Message for a call after the handler settled: it would reach the next delivery or no transaction. */
export const LATE =
  "tx was used after the handler had settled: wait for everything that it started";

/**
 * A handler used `tx` for something that only the store may do, such as COMMIT, or used it after it had
 * settled. A call that is refused has no effect.
 */
export function transactionMisuse(message: string): GatewayWebhookError {
  return new GatewayWebhookError("transaction_misuse", message);
}

/** Gives `error` to the callback of a call, later. False if its last argument is none. */
export function failsCallback(args: readonly unknown[], error: Error): boolean {
  const callback = args.at(-1);
  if (typeof callback !== "function") return false;
  queueMicrotask(() => {
    Reflect.apply(callback, undefined, [error]);
  });
  return true;
}

/** The handler has ended the transaction, which `tx` could not refuse. Its delivery is not acknowledged. */
export function endedByHandler(cause?: unknown): GatewayWebhookError {
  const message = "the handler ended the transaction of its delivery";
  return new GatewayWebhookError("transaction_misuse", message, { cause });
}

/**
 * The pool handed out a client that is inside a transaction, because other code released it without
 * COMMIT or ROLLBACK. Nothing that the store writes there would be committed. The connection is closed
 * and the delivery is answered 503. Fix the code that releases the client.
 */
export function unfinishedTransaction(options?: ErrorOptions): GatewayWebhookError {
  return new GatewayWebhookError(
    "unfinished_transaction",
    "the pool handed out a client inside a transaction: other code releases clients without COMMIT or ROLLBACK",
    options,
  );
}

/**
 * The error after the time of a statement was over: the server did not answer, and may have committed it. The
 * connection is closed and the delivery is answered 503. Any other error is returned unchanged.
 */
export function lostAnswerOf(error: unknown): unknown {
  if (!(error instanceof DeadlineError)) return error;
  const message = `${error.message}: the connection was closed`;
  return new GatewayWebhookError("lost_answer", message, { cause: error });
}

/**
 * The handler caught the error of a failed statement and went on, so COMMIT could only roll back. The
 * delivery is answered 503. Let the error pass. PostgreSQL: or run such a statement in a savepoint. MySQL:
 * this is so after a deadlock, which rolls the whole transaction back, and after a statement whose promise
 * the handler did not use: await every statement.
 */
export function transactionAborted(cause?: unknown): GatewayWebhookError {
  return new GatewayWebhookError(
    "transaction_aborted",
    "rolled back at COMMIT: a statement in the transaction had failed, and was not undone",
    { cause },
  );
}
