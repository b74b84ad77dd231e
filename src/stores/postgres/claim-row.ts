import { GatewayWebhookError } from "../../common/errors.js";
import { CLAIMED, COMPLETED, TAKEN_OVER, inFlight, type ClaimResult } from "../delivery-store.js";

/** When to retry a redelivery while a transaction of unknown length handles the delivery. */
const RETRY_AFTER_MS = 10_000;

/**
 * The state of a key, from the row that the statements of both stores return; undefined without a row.
 * Throws an error with the code `unexpected_result` for any other row.
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
      throw new GatewayWebhookError(
        "unexpected_result",
        "pool.query returned a row of another statement",
      );
  }
}

/**
 * The states of `keys`, from rows with their key and state, in any order and without those that have no
 * state. Throws like `readClaimRow`.
 */
export function readClaimRows(
  keys: readonly string[],
  rows: readonly unknown[],
): Map<string, ClaimResult> {
  const results = new Map<string, ClaimResult>();
  for (const row of rows) {
    const key = keys.length === 1 ? keys[0] : (row as { key: unknown }).key;
    const result = readClaimRow([row]);
    if (result !== undefined) results.set(String(key), result);
  }
  return results;
}

/** The version (xmin) of the row that a transaction has written. */
export function readVersion(rows: readonly unknown[]): unknown {
  return (rows[0] as { version?: unknown } | undefined)?.version;
}
