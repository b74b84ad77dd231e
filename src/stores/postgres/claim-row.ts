import type { ClaimResult } from "../delivery-store.js";
import { UnexpectedResultError } from "../claim-results.js";

const CLAIMED: ClaimResult = Object.freeze({ state: "claimed", takeover: false });
const TAKEN_OVER: ClaimResult = Object.freeze({ state: "claimed", takeover: true });
const COMPLETED: ClaimResult = Object.freeze({ state: "completed" });

/** What a second copy is told where no lease says how long the first one takes. */
const RETRY_AFTER_MS = 10_000;

/**
 * How a key stands, from the one row that the statements of both stores answer; undefined where there is
 * none. Throws on anything else.
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
      return { state: "in_flight", retryAfterMs: Number(row.retry_after_ms ?? RETRY_AFTER_MS) };
    default:
      throw new UnexpectedResultError("pool.query answered no row of the statement");
  }
}

/** The version of the row that was written for a claim. */
export function readVersion(rows: readonly unknown[]): unknown {
  return (rows[0] as { version?: unknown } | undefined)?.version;
}
