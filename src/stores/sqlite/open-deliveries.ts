import { ConfigurationError } from "../../common/errors.js";
import {
  TABLE_COLUMNS,
  createDeliveriesTable,
  createTableSql,
  type DeliveriesTable,
} from "./deliveries-table.js";
import { isLocked, untilUnlockedSync } from "./locked.js";
import type { SqliteDatabase } from "./sqlite-database.js";
import { writeQueueOn, type WriteQueue } from "./write-queue.js";

/** The table of a file that is ready for it. */
export interface Deliveries {
  readonly table: DeliveriesTable;
  readonly writes: WriteQueue;
}

/** How long the lock is waited for where the table is missing, or the file is not in WAL yet. */
const OPENING_TIMEOUT_MS = 5_000;
/** PRAGMA synchronous that does more than FULL. */
const EXTRA = 3;

/**
 * Sets the handle and its file up, makes the table where it is missing, and prepares the statements.
 * Several processes may do so at once. Where the table is there, it waits for no writer. Otherwise it is
 * synchronous all the same, so it may stop the process for the while.
 *
 * @throws ConfigurationError where nothing would outlive the process, or the table is not the store's.
 */
export function openDeliveries(database: SqliteDatabase, name: string): Deliveries {
  checkIdle(database);
  const busyTimeoutMs = Number(pragma(database, "busy_timeout"));
  try {
    // SQLite's own wait sleeps longer each time, so processes that write all the time would outrun it.
    database.exec("PRAGMA busy_timeout = 0");
    const table = untilUnlockedSync(() => prepareFile(database, name), OPENING_TIMEOUT_MS);
    checkWritable(table);
    return { table, writes: writeQueueOn(database, busyTimeoutMs) };
  } finally {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  }
}

/** Writes what is missing, and nothing else. Throws where the file is locked for that; can be repeated. */
function prepareFile(database: SqliteDatabase, name: string): DeliveriesTable {
  if (pragma(database, "journal_mode") !== "wal") enterWal(database);
  // Said even where it reads FULL: better-sqlite3 is built to fall back to NORMAL in WAL unless told.
  if (Number(pragma(database, "synchronous")) !== EXTRA) database.exec("PRAGMA synchronous = FULL");
  if (columnsOf(database, name) === null) database.exec(createTableSql(name));
  checkColumns(database, name);
  return createDeliveriesTable(database, name);
}

/** A handle that cannot write fails here and not at the first delivery. The lock is not waited for. */
function checkWritable(table: DeliveriesTable): void {
  try {
    // Changes nothing. SQLite looks at the handle before the lock.
    table.release("", "");
  } catch (error) {
    if (!isLocked(error)) throw error;
  }
}

function checkIdle(database: SqliteDatabase): void {
  try {
    // Takes no lock.
    database.exec("BEGIN; ROLLBACK");
  } catch (error) {
    if (!String(error).includes("within a transaction")) throw error;
    throw new ConfigurationError(
      "invalid_option",
      "database is inside a transaction: give the store a handle of its own",
    );
  }
}

function enterWal(database: SqliteDatabase): void {
  database.exec("PRAGMA journal_mode = WAL");
  if (pragma(database, "journal_mode") !== "wal") throw notDurable();
}

function notDurable(): ConfigurationError {
  return new ConfigurationError(
    "invalid_option",
    "database cannot be set to WAL: open a file on a local disk; memoryStore is what lives in memory",
  );
}

function checkColumns(database: SqliteDatabase, table: string): void {
  if (columnsOf(database, table) === TABLE_COLUMNS.join(" ")) return;
  throw new ConfigurationError(
    "invalid_option",
    `table ${table} exists and is not the store's: give the name of another`,
  );
}

/** The names of the columns; null where there is no such table. */
function columnsOf(database: SqliteDatabase, table: string): unknown {
  const list = database
    .prepare(
      "SELECT group_concat(name, ' ') FROM (SELECT name FROM pragma_table_info(?) ORDER BY cid)",
    )
    .get(table);
  return firstOf(list);
}

function pragma(database: SqliteDatabase, name: string): unknown {
  return firstOf(database.prepare(`PRAGMA ${name}`).get());
}

function firstOf(row: unknown): unknown {
  return Object.values(Object(row) as object)[0];
}
