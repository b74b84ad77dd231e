import {
  CLAIMED,
  COMPLETED,
  TAKEN_OVER,
  UnexpectedResultError,
  inFlight,
} from "../claim-results.js";
import type { ClaimResult } from "../delivery-store.js";

/** When to retry a redelivery while a transaction of unknown length handles the delivery. */
const RETRY_AFTER_MS = 10_000;

/**
 * The state of a key, from the row that the statements of both stores return; undefined without a row.
 * Throws an `UnexpectedResultError` for any other row.
 */
export function readClaimRow(rows: readonly unknown[]): ClaimResult | undefined {
  const row = rows[0] as { state: unknown; retry_after_ms: unknown } | undefined;
  switch (row?.state) {
    case undefined:
      return undefined;
    case "claimed":
      return CLAIMED;
    case "takeover":
      return TAKEN_OVER;
    case "completed":
      return COMPLETED;
    case "in_flight":
      return inFlight(Number(row.retry_after_ms ?? RETRY_AFTER_MS));
    default:
      throw new UnexpectedResultError("pool.query returned a row of another statement");
  }
}

/** The version (xmin) of the row that a transaction has written. */
export function readVersion(rows: readonly unknown[]): unknown {
  return (rows[0] as { version?: unknown } | undefined)?.version;
}
