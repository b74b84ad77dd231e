import { clientTimeoutMs } from "../call-limits.js";
import { retryConflicts } from "../conflict-retry.js";
import { batchRowsOf, type TableMaintenance } from "../table-maintenance.js";
import { onConnection, type MysqlResult } from "./connection.js";
import { isConflict } from "./errors.js";
import { promisePool, type MysqlPool, quotedTable } from "./mysql-pool.js";
import { isTableThere, mysqlSchema } from "./mysql-schema.js";
import { NOW_MS } from "./sql-text.js";

/** How long one statement of the maintenance may take, in milliseconds. */
const STATEMENT_MS = 600_000;

type Send = (sql: string) => Promise<MysqlResult>;

/** Runs `work` on a connection that has no open transaction, neither before nor afterwards. */
function outsideTransaction<T>(pool: MysqlPool, work: (send: Send) => Promise<T>): Promise<T> {
  return onConnection(promisePool(pool), async (query) => {
    const send: Send = (sql) => query("the statement", clientTimeoutMs(STATEMENT_MS), sql);
    await send("ROLLBACK AND NO CHAIN NO RELEASE");
    const result = await work(send);
    await send("ROLLBACK AND NO CHAIN NO RELEASE");
    return result;
  });
}

/** The maintenance of one table. */
export function maintenanceOf(pool: MysqlPool, table: string | undefined): TableMaintenance {
  const name = quotedTable(table);
  return {
    migrate: () =>
      outsideTransaction(pool, async (send) => {
        if (await isTableThere(send, name)) return;
        await send(mysqlSchema(table));
        // Another process may have created a different table of that name in the meantime.
        await isTableThere(send, name);
      }),

    // Reads the table once, in the order of its keys and without locks, and deletes batch by batch what may be
    // locked at once. A DELETE by expires_at would lock every row that it reads.
    async purge(options = {}) {
      const batchRows = batchRowsOf(options);
      let purged = 0;
      let after: string | undefined;
      const purgeBatch = (): Promise<{ found: readonly string[]; deleted: number }> =>
        outsideTransaction(pool, async (send) => {
          const found = await keysOf(
            send,
            `SELECT HEX(\`key\`) AS hex FROM ${name}
              WHERE expires_at <= ${NOW_MS}${after === undefined ? "" : ` AND \`key\` > x'${after}'`}
              ORDER BY \`key\` LIMIT ${String(batchRows)}`,
          );
          return { found, deleted: await deleteUnlocked(send, name, found) };
        });
      for (;;) {
        const { found, deleted } = await retryConflicts(purgeBatch, isConflict);
        purged += deleted;
        if (found.length < batchRows) return purged;
        after = found.at(-1);
      }
    },
  };
}

async function deleteUnlocked(send: Send, name: string, keys: readonly string[]): Promise<number> {
  if (keys.length === 0) return 0;
  await send("START TRANSACTION");
  const unlocked = await keysOf(
    send,
    `SELECT HEX(\`key\`) AS hex FROM ${name}
      WHERE \`key\` IN (${listed(keys)}) AND expires_at <= ${NOW_MS} FOR UPDATE SKIP LOCKED`,
  );
  if (unlocked.length === 0) return 0;
  const { affectedRows } = await send(
    `DELETE FROM ${name} WHERE \`key\` IN (${listed(unlocked)}) AND expires_at <= ${NOW_MS}`,
  );
  await send("COMMIT AND NO CHAIN NO RELEASE");
  return affectedRows;
}

async function keysOf(send: Send, select: string): Promise<readonly string[]> {
  const { rows } = await send(select);
  return (rows as readonly { hex: unknown }[]).map(({ hex }) => String(hex));
}

/** Keys in hexadecimal, as literals. */
function listed(keys: readonly string[]): string {
  return keys.map((key) => `x'${key}'`).join(", ");
}
