import { GatewayWebhookError } from "../../common/errors.js";
import { CLAIMED, COMPLETED, TAKEN_OVER, inFlight, type ClaimResult } from "../delivery-store.js";
import { NOW_MS, literal } from "./sql-text.js";

// Numbers, because a pool may return text as bytes.
const [IS_COMPLETED, IS_OWN, IS_LEASED] = [1, 2, 3];

/** A key, and the owner that asks for it. */
export interface Asked {
  readonly key: string;
  readonly owner: string;
}

/**
 * SQL that reads what is known of keys: no row for an unknown key, a lease that has ended and a retention
 * that is over. It waits for no lock.
 */
export function lookStatement(table: string, asked: readonly Asked[]): string {
  const keys = asked.map(({ key }) => literal(key)).join();
  // From 1. As a number: a pool may return the key as bytes.
  const place = `FIELD(\`key\`, ${keys})`;
  return `SELECT
      ${place} AS place,
      CASE
        WHEN owner IS NULL THEN ${String(IS_COMPLETED)}
        WHEN owner = ELT(${place}, ${asked.map(({ owner }) => literal(owner)).join()}) THEN ${String(IS_OWN)}
        ELSE ${String(IS_LEASED)}
      END AS state,
      takeover IS TRUE AS is_takeover,
      COALESCE(lease_until - ${NOW_MS}, 0) AS left_ms
    FROM ${table}
    WHERE \`key\` IN (${keys}) AND expires_at > ${NOW_MS}
      AND (owner IS NULL OR lease_until > ${NOW_MS})`;
}

/**
 * What `lookStatement` has read, in the order in which it asked; `claimed` if the owner that asked holds
 * the lease. Throws an error with the code `unexpected_result` for the row of another statement.
 */
export function readKnown(rows: readonly unknown[]): (ClaimResult | undefined)[] {
  const known: (ClaimResult | undefined)[] = [];
  for (const row of rows) {
    const { place } = row as { place: unknown };
    known[Number(place) - 1] = readState(row);
  }
  return known;
}

function readState(row: unknown): ClaimResult {
  const { state, is_takeover, left_ms } = row as Record<string, unknown>;
  switch (Number(state)) {
    case IS_COMPLETED:
      return COMPLETED;
    case IS_OWN:
      return Number(is_takeover) === 1 ? TAKEN_OVER : CLAIMED;
    case IS_LEASED:
      return inFlight(Math.max(1, Number(left_ms)));
    default:
      throw new GatewayWebhookError(
        "unexpected_result",
        "the connection returned a row of another statement",
      );
  }
}
