/**
 * The database has no table of deliveries. The delivery is answered 503 and sent again, so nothing is
 * lost. Apply the migration to the database that the Worker is bound to.
 */
export class MissingTableError extends Error {
  override readonly name = "MissingTableError";
  /** Stable, so that code can branch on it. */
  readonly code = "missing_table";

  constructor(table: string, options?: ErrorOptions) {
    super(
      `the database has no table ${table}: put the SQL of d1Schema() into a migration, and run ` +
        "`wrangler d1 migrations apply <database> --remote` (`--local` for wrangler dev)",
      options,
    );
  }
}

/**
 * The failures that D1's documentation tells to retry: the network, and a database that moves or restarts.
 * "D1 DB is overloaded" is not one of them, since every retry would add to the load.
 */
const TRANSIENT =
  /network connection lost|storage caused object to be reset|reset because its code was updated|transient issue on remote node/i;

/** Whether the same call may succeed within a second. It may have been committed: its answer was lost. */
export function isTransient(error: unknown): boolean {
  return TRANSIENT.test(String(error));
}

/** The error that names what is missing. Any other error is returned unchanged. */
export function namedD1Error(error: unknown, table: string): unknown {
  const isMissing = String(error).includes(`no such table: ${table}:`);
  return isMissing ? new MissingTableError(table, { cause: error }) : error;
}
