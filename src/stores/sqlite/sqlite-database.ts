/** A value that the stores bind to a statement. */
export type SqliteValue = string | number | null;

/** A prepared statement of better-sqlite3, libsql, `node:sqlite` or `bun:sqlite`. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint };
  get(...values: SqliteValue[]): unknown;
}

/**
 * The part of a SQLite handle that the stores use. A `Database` of better-sqlite3, libsql or `bun:sqlite` and
 * a `DatabaseSync` of `node:sqlite`, on Node, Bun or Deno, have it.
 */
export interface SqliteDatabase {
  /** Runs one or more statements that return no rows. */
  exec(sql: string): unknown;
  /** Prepares one statement. Its methods return values, not promises. */
  prepare(sql: string): SqliteStatement;
}
