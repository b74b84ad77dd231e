import { CallLimits, clientTimeoutMs } from "../call-limits.js";
import { retryConflicts } from "../conflict-retry.js";
import { batchRowsOf, type PurgeOptions } from "../purge-options.js";
import { connect, type MysqlResult } from "./connection.js";
import { isConflict } from "./errors.js";
import { promisePool, type MysqlPool } from "./mysql-pool.js";
import { isTableThere, mysqlSchema } from "./mysql-schema.js";
import { quotedTable } from "./mysql-options.js";
import { NOW_MS } from "./sql-text.js";

/** Creating and emptying the table. `mysqlStore` and `mysqlTransactions` both have these methods. */
export interface MysqlMaintenance {
  /**
   * Creates the table if it is missing (the SQL of `mysqlSchema`). Any number of processes may call it at
   * the same time. The user needs the right to CREATE only if the table is missing.
   *
   * Rejects with a `ConfigurationError` (`invalid_option`) if a table of that name exists and the store
   * cannot use it; the message names the columns. A table may have more columns than this release knows,
   * if they are nullable or have a default. So an older release works after a rollback.
   *
   * @example
   * await store.migrate(); // at the start of the application
   */
  migrate(): Promise<void>;
  /**
   * Deletes the rows whose retention has ended, in batches, and resolves to the number of deleted rows.
   * It skips locked rows, so it may run beside traffic and beside itself. Call it once an hour or once a
   * day: such rows already count as absent, and only take space.
   *
   * Rejects with a `ConfigurationError` for an unknown option or a `batchRows` out of its bounds, and
   * with the error of the database.
   *
   * @example
   * setInterval(() => store.purge({ batchRows: 5_000 }).catch(console.error), 3_600_000);
   */
  purge(options?: PurgeOptions): Promise<number>;
}

/** How long one statement of the maintenance may take, in milliseconds. */
const STATEMENT_MS = 600_000;

type Send = (sql: string) => Promise<MysqlResult>;

/** Runs `work` on a connection that has no open transaction, neither before nor afterwards. */
async function onConnection<T>(pool: MysqlPool, work: (send: Send) => Promise<T>): Promise<T> {
  const connection = await connect(promisePool(pool), new CallLimits().deadline());
  const send: Send = (sql) => connection.query("the statement", clientTimeoutMs(STATEMENT_MS), sql);
  try {
    await send("ROLLBACK AND NO CHAIN NO RELEASE");
    const result = await work(send);
    await send("ROLLBACK AND NO CHAIN NO RELEASE");
    connection.release();
    return result;
  } catch (error) {
    await connection.close(error);
    throw error;
  }
}

/** The maintenance of one table. */
export function maintenanceOf(pool: MysqlPool, table: string | undefined): MysqlMaintenance {
  const name = quotedTable(table);
  return {
    migrate: () =>
      onConnection(pool, async (send) => {
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
        onConnection(pool, async (send) => {
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
