import { invalidOption } from "../../common/errors.js";
import { MAX_TIMER_MS } from "../../common/timers.js";
import {
  checkVersion,
  integerOption,
  missingMethod,
  ownOptions,
  unsupportedVersion,
} from "../../common/option-checks.js";
import { tableName } from "../sqlite-table.js";

/** A prepared statement of better-sqlite3, libsql, `node:sqlite` or `bun:sqlite`. */
export interface SqliteStatement {
  // The stores bind texts, numbers and null. TypeScript 5 would refuse the drivers' own types for a narrower one.
  run(...values: unknown[]): { readonly changes: number | bigint };
  get(...values: unknown[]): unknown;
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
/** Options of `sqliteStore` and `sqliteTransactions`. */
export interface SqliteOptions<Database extends SqliteDatabase = SqliteDatabase> {
  /**
   * An open handle of better-sqlite3, libsql, `node:sqlite` or `bun:sqlite` on a file of a local disk. Give
   * the store a handle of its own: the store sets the handle to `synchronous=FULL` and the file to WAL. It
   * does not close it.
   */
  database: Database;
  /**
   * The table, created if it is missing. 1 to 64 letters, digits and `_`, with no digit first and no
   * `sqlite_` or `_cf_` in front. Default `gateway_deliveries`.
   */
  table?: string | undefined;
  /**
   * How long a call waits while another connection, or another call on the same handle, writes to the
   * file. Then it fails and the delivery is answered 503. The process is not blocked meanwhile.
   * Milliseconds, 0 to 2 147 483 647, default 4 000: less than the receiver's `dependencyTimeoutMs`, so
   * that the report names the cause. With 0 a call never waits, so it shares no transaction either.
   */
  waitTimeoutMs?: number | undefined;
}

/** The options, with defaults for those left out. */
type SqliteSettings = Readonly<Required<SqliteOptions>> & {
  readonly table: string;
  readonly waitTimeoutMs: number;
};

const WAIT_TIMEOUT = { fallback: 4_000, min: 0, max: MAX_TIMER_MS };
const SUPPORTED = "better-sqlite3 11 and later, libsql 0.5 and later, node:sqlite, bun:sqlite";

/** Checks the options of `maker`. Throws a `ConfigurationError` that says what to change. */
export function checkSqliteOptions(maker: string, options: SqliteOptions): SqliteSettings {
  const own = ownOptions(maker, options, ["database", "table", "waitTimeoutMs"]);
  const { database } = own;
  checkVersion("database", database, ["exec", "prepare"], "the SQLite driver", SUPPORTED);
  if (missingMethod(database, ["exec", "prepare"]) !== undefined) {
    throw invalidOption(
      "database must be an open handle of better-sqlite3, libsql, node:sqlite or bun:sqlite, with exec and prepare",
    );
  }
  const table = tableName(own.table);
  const waitTimeoutMs = integerOption("waitTimeoutMs", own.waitTimeoutMs, WAIT_TIMEOUT);
  return { database, table, waitTimeoutMs };
}

/** Throws `ConfigurationError` for a driver whose statements do not work, or return promises. */
export function checkStatements(database: SqliteDatabase): void {
  // Reads nothing of the file, which may be locked.
  const statement: unknown = database.prepare("PRAGMA busy_timeout");
  if (missingMethod(statement, ["run", "get"]) === undefined) return;
  const found =
    "a SQLite driver whose prepare() returns no statement with run and get, such as libsql/promise";
  throw unsupportedVersion("database", found, SUPPORTED);
}
