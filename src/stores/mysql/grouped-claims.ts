import type { KeyedCall } from "../call-groups.js";
import { CLAIMED, type ClaimOptions, type ClaimResult } from "../delivery-store.js";
import type { Run } from "./autocommit.js";
import { lookStatement, readKnown } from "./known-delivery.js";
import { NOW_MS, fromNow, literal } from "./sql-text.js";

/** A claim of `mysqlStore`. */
export interface Claim extends KeyedCall, ClaimOptions {
  readonly owner: string;
}

/**
 * An INSERT that waits for another transaction on a row computes the lease before it waits. If it took
 * longer than this, the lease is set again, in milliseconds.
 */
const SLOW_INSERT_MS = 100;

/** Claims one key. Resolves to undefined if another change came first. */
export async function claimOne(
  table: string,
  claim: Claim,
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
  claims: readonly Claim[],
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

function insertStatement(table: string, claims: readonly Claim[]): string {
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

function statementsOf(table: string, claim: Claim) {
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
