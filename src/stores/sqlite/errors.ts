import { GatewayWebhookError } from "../../common/errors.js";

/** The messages of better-sqlite3, of `node:sqlite` for a handle and a statement, and of `bun:sqlite`. */
const CLOSED =
  /database (?:connection )?is not open|statement has been finalized|database has closed|closed database/i;

/** The error that names what is wrong with the handle. Any other error is returned unchanged. */
export function namedHandleError(error: unknown): unknown {
  const text = String(error);
  if (text.includes("within a transaction")) {
    return new GatewayWebhookError(
      "handle_in_transaction",
      "a transaction is open on the database handle, and its rollback would undo the store's writes: " +
        "give the store a handle of its own",
      { cause: error },
    );
  }
  if (CLOSED.test(text)) {
    return new GatewayWebhookError(
      "handle_closed",
      "the database handle is not open: close it after receiver.drain() has resolved",
      { cause: error },
    );
  }
  return error;
}
