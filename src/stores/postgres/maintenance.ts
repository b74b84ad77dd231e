import { retryConflicts } from "../conflict-retry.js";
import { batchRowsOf, type TableMaintenance } from "../table-maintenance.js";
import { isSerializationFailure } from "./errors.js";
import { type PostgresPool, quotedTable } from "./postgres-pool.js";
import { isTableThere, postgresSchema } from "./postgres-schema.js";

/** The maintenance of one table. */
export function maintenanceOf(pool: PostgresPool, table: string | undefined): TableMaintenance {
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
