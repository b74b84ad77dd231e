import type { KeyedCall } from "../call-groups.js";
import type { CompleteOptions } from "../delivery-store.js";
import type { Run } from "./autocommit.js";
import { lookStatement, readKnown } from "./known-delivery.js";
import { NOW_MS, fromNow, literal } from "./sql-text.js";

/** A completion of `mysqlStore`. */
export interface Completion extends KeyedCall, CompleteOptions {
  readonly owner: string;
}

/** Completes one key. Resolves to undefined if another change came first. */
export async function completeOne(
  table: string,
  completion: Completion,
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
  completions: readonly Completion[],
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
