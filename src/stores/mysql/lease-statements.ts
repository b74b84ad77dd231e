import type { ClaimCall, CompleteCall } from "../call-groups.js";
import { unexpectedResult } from "../../common/errors.js";
import {
  CLAIMED,
  type ClaimOptions,
  type ClaimResult,
  COMPLETED,
  TAKEN_OVER,
  inFlight,
} from "../delivery-store.js";
import type { Run } from "./autocommit.js";
import { NOW_MS, fromNow, literal } from "./sql-text.js";

/**
 * An INSERT that waits for another transaction on a row computes the lease before it waits. If it took
 * longer than this, the lease is set again, in milliseconds.
 */
const SLOW_INSERT_MS = 100;

/** Claims one key. Resolves to undefined if another change came first. */
export async function claimOne(
  table: string,
  claim: ClaimCall,
  run: Run,
): Promise<ClaimResult | undefined> {
  const { insert, restart, look, take } = statementsOf(table, claim);
  const startedAt = performance.now();
  if ((await run(insert)).affectedRows > 0) {
    if (!isSlow(startedAt)) return CLAIMED;
    return (await run(restart)).affectedRows > 0 ? CLAIMED : undefined;
  }
  const [known] = readKnown((await run(look)).rows);
  if (known !== undefined && known.state !== "claimed") return known;
  await run(take);
  // Not by the number of rows: by default mysql2 counts found rows, changed or not.
  return readKnown((await run(look)).rows)[0];
}

/**
 * Claims several keys. The results have the order of the claims; undefined for a claim that must be made
 * on its own: its row is there and can be taken, or its lease may be too short after a wait.
 */
export async function claimTogether(
  table: string,
  claims: readonly ClaimCall[],
  run: Run,
): Promise<(ClaimResult | undefined)[]> {
  const startedAt = performance.now();
  const { affectedRows } = await run(insertStatement(table, claims));
  const mayBeShort = isSlow(startedAt);
  if (affectedRows === claims.length && !mayBeShort) return claims.map(() => CLAIMED);
  const known = readKnown((await run(lookStatement(table, claims))).rows);
  return claims.map((_, index) =>
    mayBeShort && known[index]?.state === "claimed" ? undefined : known[index],
  );
}

function isSlow(startedAt: number): boolean {
  return performance.now() - startedAt >= SLOW_INSERT_MS;
}

function insertStatement(table: string, claims: readonly ClaimCall[]): string {
  const rows = claims.map(({ key, owner, ...times }) => {
    const { leaseEnd, retentionEnd } = endsOf(times);
    return `(${literal(key)}, ${literal(owner)}, ${leaseEnd}, ${retentionEnd})`;
  });
  return `INSERT IGNORE INTO ${table} (\`key\`, owner, lease_until, expires_at)
      VALUES ${rows.join(",\n")}`;
}

function endsOf({ leaseMs, retentionMs }: ClaimOptions) {
  return { leaseEnd: fromNow(leaseMs), retentionEnd: fromNow(Math.max(leaseMs, retentionMs)) };
}

function statementsOf(table: string, claim: ClaimCall) {
  const [id, holder] = [literal(claim.key), literal(claim.owner)];
  const { leaseEnd, retentionEnd } = endsOf(claim);
  return {
    insert: insertStatement(table, [claim]),
    /** Sets the lease again, unless another owner has taken it. */
    restart: `UPDATE ${table} SET lease_until = ${leaseEnd}, expires_at = ${retentionEnd}
      WHERE \`key\` = ${id} AND owner = ${holder}`,
    look: lookStatement(table, [claim]),
    // The assignments are evaluated in this order: takeover reads the old values.
    take: `UPDATE ${table} SET
        takeover = expires_at > ${NOW_MS} AND (takeover IS TRUE OR lease_until <= ${NOW_MS}),
        owner = ${holder},
        lease_until = ${leaseEnd},
        expires_at = ${retentionEnd}
      WHERE \`key\` = ${id}
        AND (expires_at <= ${NOW_MS} OR lease_until <= ${NOW_MS} OR owner = ${holder})`,
  };
}

/** Completes one key. Resolves to undefined if another change came first. */
export async function completeOne(
  table: string,
  completion: CompleteCall,
  run: Run,
): Promise<true | undefined> {
  const id = literal(completion.key);
  const retentionEnd = fromNow(completion.retentionMs);
  const completed = await run(`UPDATE ${table}
    SET expires_at = ${retentionEnd}, owner = NULL, lease_until = NULL
    WHERE \`key\` = ${id} AND (owner IS NOT NULL OR expires_at <= ${NOW_MS})`);
  if (completed.affectedRows > 0) return true;
  const inserted = await run(`INSERT IGNORE INTO ${table} (\`key\`, expires_at)
    VALUES (${id}, ${retentionEnd})`);
  if (inserted.affectedRows > 0) return true;
  const [known] = readKnown((await run(lookStatement(table, [completion]))).rows);
  return known?.state === "completed" ? true : undefined;
}

/** Completes several keys in one statement. */
export async function completeTogether(
  table: string,
  completions: readonly CompleteCall[],
  run: Run,
): Promise<true[]> {
  const rows = completions.map(
    ({ key, retentionMs }) => `(${literal(key)}, ${fromNow(retentionMs)})`,
  );
  // The assignments are evaluated in this order: expires_at reads the old owner.
  await run(`INSERT INTO ${table} (\`key\`, expires_at)
    VALUES ${rows.join(",\n")}
    ON DUPLICATE KEY UPDATE
      expires_at = IF(owner IS NOT NULL OR expires_at <= ${NOW_MS}, VALUES(expires_at), expires_at),
      owner = NULL,
      lease_until = NULL`);
  return completions.map(() => true);
}

// Numbers, because a pool may return text as bytes.
const [IS_COMPLETED, IS_OWN, IS_LEASED] = [1, 2, 3];

/** A key, and the owner that asks for it. */
interface Asked {
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
      throw unexpectedResult("the connection returned a row of another statement");
  }
}
