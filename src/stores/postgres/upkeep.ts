import { integerOption, ownOptions } from "../../common/option-checks.js";
import type { PostgresPool } from "./postgres-pool.js";
import { postgresSchema } from "./postgres-schema.js";
import { settled } from "./settled.js";
import { isTableThere } from "./table-check.js";
import { quotedTable } from "./table-name.js";

/** Options of `purge`. */
export interface PurgeOptions {
  /** How many rows one statement removes. From 1 to 100 000, default 1 000. */
  batch?: number | undefined;
}

/** What keeps the table in shape. */
export interface PostgresUpkeep {
  /**
   * Makes the table where it is not there: the DDL of `postgresSchema`. Any number of processes may do so
   * at a time. The role needs CREATE on the schema only where the table is not there. Rejects with a
   * `ConfigurationError` where the name is that of a table with other columns.
   */
  migrate(): Promise<void>;
  /**
   * Removes what is past its retention, batch by batch, and resolves to how many rows it removed. Skips
   * what is locked, so it runs beside traffic and beside itself. Call it now and then, once an hour or
   * a day: such rows count as absent already, and only take room.
   */
  purge(options?: PurgeOptions): Promise<number>;
}

/** The upkeep of one table. */
export function createUpkeep(pool: PostgresPool, table: string | undefined): PostgresUpkeep {
  const name = quotedTable(table);
  // Two CREATE TABLE IF NOT EXISTS at a time can both find nothing, and one then fails. Sent without
  // parameters, both statements are one transaction, at whose end the lock is gone.
  const migration = `SELECT pg_advisory_xact_lock(hashtextextended('identity-gateway-webhooks', 0));\n${postgresSchema(table)}`;
  const purgeBatch = `DELETE FROM ${name} WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM ${name} WHERE expires_at <= clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED
  ))`;

  return {
    async migrate() {
      if (await isTableThere(pool, name)) return;
      await pool.query(migration);
      // Another may have made one of that name meanwhile, which is left as it is.
      await isTableThere(pool, name);
    },

    async purge(options = {}) {
      const own = ownOptions("purge", options, ["batch"]);
      const batch = integerOption("batch", own.batch, {
        fallback: 1_000,
        min: 1,
        max: 100_000,
      });
      let purged = 0;
      for (;;) {
        const { rowCount } = await settled(() => pool.query(purgeBatch, [batch]));
        // Null is for statements that have no rows.
        const removed = Number(rowCount);
        purged += removed;
        if (removed < batch) return purged;
      }
    },
  };
}
