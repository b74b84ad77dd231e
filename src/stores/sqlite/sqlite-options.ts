import { ConfigurationError } from "../../common/errors.js";
import { MAX_TIMER_MS } from "../../common/timers.js";
import { integerOption, ownOptions } from "../../common/option-checks.js";
import type { SqliteDatabase } from "./sqlite-database.js";

/** Options of `sqliteStore` and `sqliteTransactions`. */
export interface SqliteOptions<Database extends SqliteDatabase = SqliteDatabase> {
  /**
   * An open handle of better-sqlite3 or `node:sqlite` on a file of a local disk. Give the store one of
   * its own: it is set to `synchronous=FULL`, and its file to WAL. The store does not close it.
   */
  database: Database;
  /**
   * The table, made where it is missing. 1 to 64 letters, digits and `_`, no digit first, default
   * `webhook_deliveries`.
   */
  table?: string | undefined;
  /**
   * How long a call waits for the file while another connection writes to it, or other calls on the
   * handle do; then it fails, which is answered 503. The process goes on meanwhile.
   * Milliseconds, from 0 to 2 147 483 647, default 4 000: below the receiver's `dependencyTimeoutMs`,
   * so that its report names the cause.
   */
  waitTimeoutMs?: number | undefined;
}

/** The options with their defaults. */
export type SqliteSettings = Readonly<Required<SqliteOptions>> & {
  readonly table: string;
  readonly waitTimeoutMs: number;
};

const TABLE_NAME = /^[A-Za-z_][0-9A-Za-z_]{0,63}$/;

/** Checks the options. Throws `ConfigurationError` with what to change. */
export function checkSqliteOptions(maker: string, options: SqliteOptions): SqliteSettings {
  const own = ownOptions(maker, options, ["database", "table", "waitTimeoutMs"]);
  const { database, table = "webhook_deliveries" } = own;
  if (!hasMethods(database)) {
    throw new ConfigurationError(
      "invalid_option",
      "database has to be an open handle of better-sqlite3 or node:sqlite, with exec and prepare",
    );
  }
  if (typeof table !== "string" || !TABLE_NAME.test(table) || /^sqlite_/i.test(table)) {
    throw new ConfigurationError(
      "invalid_option",
      "table has to be 1 to 64 letters, digits and _, with no digit first and no sqlite_",
    );
  }
  const waitTimeoutMs = integerOption("waitTimeoutMs", own.waitTimeoutMs, {
    fallback: 4_000,
    min: 0,
    max: MAX_TIMER_MS,
  });
  return { database, table, waitTimeoutMs };
}

function hasMethods(database: unknown): boolean {
  const { exec, prepare } = (database ?? {}) as Partial<SqliteDatabase>;
  return typeof exec === "function" && typeof prepare === "function";
}
