import { integerOption, ownOptions } from "../common/option-checks.js";

/** Options of `purge`. */
export interface PurgeOptions {
  /** How many rows one DELETE removes. 1 to 100 000, default 1 000. */
  batchRows?: number | undefined;
}

/** Creating and emptying the table of a store on PostgreSQL or MySQL. */
export interface TableMaintenance {
  /**
   * Creates the table if it is missing (the SQL of `postgresSchema` or `mysqlSchema`). Any number of processes may call
   * it at the same time. The user needs the right to CREATE only if the table is missing.
   *
   * Rejects with a `ConfigurationError` (`invalid_option`) if a table of that name exists and the store
   * cannot use it; the message says why. A table may have more columns than this release knows,
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

/**
 * The rows of one batch.
 *
 * @throws ConfigurationError for an unknown option, and for a number out of its bounds.
 */
export function batchRowsOf(options: PurgeOptions): number {
  const { batchRows } = ownOptions("purge", options, ["batchRows"]);
  return integerOption("batchRows", batchRows, { fallback: 1_000, min: 1, max: 100_000 });
}
