import {
  CLAIMED,
  COMPLETED,
  TAKEN_OVER,
  UnexpectedResultError,
  inFlight,
} from "../claim-results.js";
import type { ClaimResult } from "../delivery-store.js";
import { NOW_MS, literal } from "./sql-text.js";

// Numbers, because a pool may return text as bytes.
const [IS_COMPLETED, IS_OWN, IS_LEASED] = [1, 2, 3];

/**
 * SQL that reads what is known of `key`: no row for an unknown key, a lease that has ended and a retention
 * that is over. It waits for no lock.
 */
export function lookStatement(table: string, key: string, owner: string): string {
  return `SELECT
      CASE
        WHEN owner IS NULL THEN ${String(IS_COMPLETED)}
        WHEN owner = ${literal(owner)} THEN ${String(IS_OWN)}
        ELSE ${String(IS_LEASED)}
      END AS state,
      takeover IS TRUE AS is_takeover,
      COALESCE(lease_until - ${NOW_MS}, 0) AS left_ms
    FROM ${table}
    WHERE \`key\` = ${literal(key)} AND expires_at > ${NOW_MS}
      AND (owner IS NULL OR lease_until > ${NOW_MS})`;
}

/**
 * What `lookStatement` has read; `claimed` if the owner that it asked for holds the lease. Throws an
 * `UnexpectedResultError` for the row of another statement.
 */
export function readKnown(rows: readonly unknown[]): ClaimResult | undefined {
  const row = rows[0] as { state: unknown; is_takeover: unknown; left_ms: unknown } | undefined;
  if (row === undefined) return undefined;
  switch (Number(row.state)) {
    case IS_COMPLETED:
      return COMPLETED;
    case IS_OWN:
      return Number(row.is_takeover) === 1 ? TAKEN_OVER : CLAIMED;
    case IS_LEASED:
      return inFlight(Math.max(1, Number(row.left_ms)));
    default:
      throw new UnexpectedResultError("the connection returned a row of another statement");
  }
}
