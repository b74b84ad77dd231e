import { retryConflicts } from "../conflict-retry.js";
import { batchRowsOf, type PurgeOptions } from "../purge-options.js";
import { isSerializationFailure } from "./errors.js";
import type { PostgresPool } from "./postgres-pool.js";
import { isTableThere, postgresSchema } from "./postgres-schema.js";
import { quotedTable } from "./postgres-options.js";

/** Creating and emptying the table. `postgresStore` and `postgresTransactions` both have these methods. */
export interface PostgresMaintenance {
  /**
   * Creates the table if it is missing (the SQL of `postgresSchema`). Any number of processes may call it
   * at the same time. The role needs the right to CREATE in the schema only if the table is missing.
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

/** The maintenance of one table. */
export function maintenanceOf(pool: PostgresPool, table: string | undefined): PostgresMaintenance {
  const name = quotedTable(table);
  return {
    async migrate() {
      if (await isTableThere(pool, name)) return;
      // Two concurrent CREATE TABLE IF NOT EXISTS can both find no table, and one then fails. A text without
      // parameters is one transaction, and the lock ends with it.
      await pool.query(
        `SELECT pg_advisory_xact_lock(hashtextextended('identity-gateway-webhooks', 0));\n${postgresSchema(table)}`,
      );
      // Another process may have created a different table of that name in the meantime.
      await isTableThere(pool, name);
    },

    async purge(options = {}) {
      const batchRows = batchRowsOf(options);
      const deleteBatch = `DELETE FROM ${name} WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM ${name} WHERE expires_at <= clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED
      ))`;
      let purged = 0;
      for (;;) {
        const { rowCount } = await retryConflicts(
          () => pool.query(deleteBatch, [batchRows]),
          isSerializationFailure,
        );
        const removed = Number(rowCount);
        purged += removed;
        if (removed < batchRows) return purged;
      }
    },
  };
}
