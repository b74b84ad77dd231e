/** What is bound to a statement. */
export type SqliteValue = string | number | null;

/** A prepared statement, as better-sqlite3 and `node:sqlite` have it. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint };
  get(...values: SqliteValue[]): unknown;
}

/**
 * The part of a SQLite handle that is used: a `Database` of better-sqlite3 and a `DatabaseSync` of
 * `node:sqlite` both have it.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}
