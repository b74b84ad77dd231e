import { ConfigurationError } from "../../common/errors.js";
import { MAX_TIMER_MS } from "../../common/timers.js";
import { integerOption, missingMethod, ownOptions } from "../../common/option-checks.js";
import { tableName } from "../sqlite-table.js";
import type { SqliteDatabase } from "./sqlite-database.js";

/** Options of `sqliteStore` and `sqliteTransactions`. */
export interface SqliteOptions<Database extends SqliteDatabase = SqliteDatabase> {
  /**
   * An open handle of better-sqlite3, `node:sqlite` or `bun:sqlite` on a file of a local disk. Give the
   * store a handle of its own: the store sets the handle to `synchronous=FULL` and the file to WAL. It does
   * not close it.
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
export type SqliteSettings = Readonly<Required<SqliteOptions>> & {
  readonly table: string;
  readonly waitTimeoutMs: number;
};

/** Checks the options of `maker`. Throws a `ConfigurationError` that says what to change. */
export function checkSqliteOptions(maker: string, options: SqliteOptions): SqliteSettings {
  const own = ownOptions(maker, options, ["database", "table", "waitTimeoutMs"]);
  const { database } = own;
  if (missingMethod(database, ["exec", "prepare"]) !== undefined) {
    throw new ConfigurationError(
      "invalid_option",
      "database must be an open handle of better-sqlite3, node:sqlite or bun:sqlite, with exec and prepare",
    );
  }
  const table = tableName(own.table);
  const waitTimeoutMs = integerOption("waitTimeoutMs", own.waitTimeoutMs, {
    fallback: 4_000,
    min: 0,
    max: MAX_TIMER_MS,
  });
  return { database, table, waitTimeoutMs };
}
