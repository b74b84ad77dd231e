import { createRequire } from "node:module";
import type BetterSqlite3 from "better-sqlite3";
import type Libsql from "libsql";
import type { SqliteDatabase, SqliteStatement } from "../../../src/stores/sqlite/sqlite-options.js";

/** A handle as the tests use it. */
export interface SqliteHandle extends SqliteDatabase {
  close(): unknown;
  prepare(sql: string): SqliteRows;
  /** Only `bun:sqlite` has it: a statement that the handle keeps. */
  query?(sql: string): SqliteRows & Iterable<unknown>;
}

/** A statement as the tests use it. */
interface SqliteRows extends SqliteStatement {
  all(...values: unknown[]): unknown[];
  iterate(...values: unknown[]): IterableIterator<unknown>;
}

/** How a handle is opened. */
export interface SqliteHandleOptions {
  readonly readOnly?: boolean;
  /** Rows with BigInt for integers, and as arrays where the driver has that for all statements. */
  readonly oddRows?: boolean;
}

export type SqliteDriverName = "better-sqlite3" | "libsql" | "node:sqlite" | "bun:sqlite";

/** Opens files with one of the drivers. */
export interface SqliteDriver {
  readonly name: SqliteDriverName;
  readonly open: (file: string, options?: SqliteHandleOptions) => SqliteHandle;
}

export const betterSqlite3: SqliteDriver = {
  name: "better-sqlite3",
  open(file, { readOnly = false, oddRows = false } = {}) {
    // Loaded here, because Bun and Deno cannot load it.
    const load = createRequire(import.meta.url);
    const Database = load("better-sqlite3") as typeof BetterSqlite3;
    return new Database(file, { readonly: readOnly }).defaultSafeIntegers(oddRows);
  },
};

/** Comes with its binary, so it needs no compiler. */
export const libsql: SqliteDriver = {
  name: "libsql",
  open(file, { readOnly = false, oddRows = false } = {}) {
    const load = createRequire(import.meta.url);
    const Database = load("libsql") as typeof Libsql;
    const handle = new Database(file).defaultSafeIntegers(oddRows);
    // It ignores the option `readonly` of better-sqlite3.
    if (readOnly) handle.exec("PRAGMA query_only = ON");
    return handle;
  },
};

/** `node:sqlite`, which Node has from 22.5 on. */
async function nodeSqlite(): Promise<SqliteDriver> {
  const { DatabaseSync } = await import("node:sqlite");
  return {
    name: "node:sqlite",
    open(file, { readOnly = false, oddRows = false } = {}) {
      return new DatabaseSync(file, { readOnly, readBigInts: oddRows, returnArrays: oddRows });
    },
  };
}

/** The driver of Bun. */
async function bunSqlite(): Promise<SqliteDriver> {
  const { Database } = await import("bun:sqlite");
  return {
    name: "bun:sqlite",
    open(file, { readOnly = false, oddRows = false } = {}) {
      return new Database(file, { readonly: readOnly, create: !readOnly, safeIntegers: oddRows });
    },
  };
}

/** The driver of that name, in a process that has it. */
export async function sqliteDriver(name: string): Promise<SqliteDriver> {
  switch (name) {
    case "node:sqlite":
      return nodeSqlite();
    case "bun:sqlite":
      return bunSqlite();
    case "libsql":
      return libsql;
    default:
      return betterSqlite3;
  }
}

/** All rows of a query, each as the list of its values. */
export function rowsOf(database: SqliteHandle, sql: string): unknown[][] {
  const rows = database.prepare(sql).all();
  return rows.map((row) => Object.values(row as object) as unknown[]);
}

/** The one value that a query gives. */
export function valueOf(database: SqliteHandle, sql: string): unknown {
  return rowsOf(database, sql)[0]?.[0];
}
