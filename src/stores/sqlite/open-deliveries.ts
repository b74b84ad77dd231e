import { invalidOption, type ConfigurationError } from "../../common/errors.js";
import { TABLE_COLUMNS, createTableSql, layoutOf } from "../sqlite-table.js";
import { isBusy, retryWhileBusySync } from "./errors.js";
import { deliveriesTable, type DeliveriesTable } from "./deliveries-table.js";
import { type SqliteDatabase, checkStatements } from "./sqlite-options.js";
import { WriteQueue } from "./write-queue.js";

/** The table of a prepared file, and the queue for writes to it. */
export interface Deliveries {
  readonly table: DeliveriesTable;
  readonly writes: WriteQueue;
}

/** How long opening waits for the lock if the table is missing, or the file is not in WAL mode yet. */
const OPENING_TIMEOUT_MS = 15_000;
/** To what the `-wal` file shrinks after a long reader has let it grow. SQLite's own checkpoints keep it at 4 MB. */
const WAL_BYTES = 2 ** 23;
/** The value of PRAGMA synchronous that does more than FULL. */
const EXTRA = 3;
/** By handle: a connection has one transaction, even if several stores share it. */
const queues = new WeakMap<SqliteDatabase, WriteQueue>();

/**
 * Sets up the handle and its file, creates the table if it is missing, and prepares the statements.
 * Several processes may call it at once. If the table exists, it writes nothing and waits for no writer.
 * Otherwise it may block the process while it waits for the lock.
 *
 * @throws ConfigurationError if nothing would outlive the process, and if the table cannot be used.
 */
export function openDeliveries(database: SqliteDatabase, name: string): Deliveries {
  checkIdle(database);
  checkStatements(database);
  const busyTimeoutMs = Number(pragma(database, "busy_timeout"));
  try {
    // SQLite's own wait sleeps longer each time, so processes that write all the time would outrun it.
    database.exec("PRAGMA busy_timeout = 0");
    const table = retryWhileBusySync(() => prepareFile(database, name), OPENING_TIMEOUT_MS);
    checkWritable(database, name);
    const writes = queues.get(database) ?? new WriteQueue(database, busyTimeoutMs);
    queues.set(database, writes);
    return { table, writes };
  } finally {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  }
}

/** Writes only what is missing. Throws if the file is locked at that time; may be repeated. */
function prepareFile(database: SqliteDatabase, name: string): DeliveriesTable {
  if (pragma(database, "journal_mode") !== "wal") enterWal(database);
  // Set even if it reads FULL: better-sqlite3 is compiled to fall back to NORMAL in WAL unless it is set.
  if (Number(pragma(database, "synchronous")) !== EXTRA) database.exec("PRAGMA synchronous = FULL");
  if (Number(pragma(database, "journal_size_limit")) < 0) {
    database.exec(`PRAGMA journal_size_limit = ${WAL_BYTES}`);
  }
  if (!isUsableTable(database, name)) database.exec(createTableSql(name));
  return prepareStatements(database, name);
}

/** A handle that cannot write fails here, not at the first delivery. Does not wait for the lock. */
function checkWritable(database: SqliteDatabase, name: string): void {
  try {
    // Changes nothing. SQLite checks the handle before the lock. By `exec`: a prepared statement of libsql that
    // finds the lock held keeps its read transaction, and the handle can never write again.
    database.exec(`DELETE FROM "${name}" WHERE key = ''`);
  } catch (error) {
    if (!isBusy(error)) throw error;
  }
}

function checkIdle(database: SqliteDatabase): void {
  try {
    // Takes no lock.
    database.exec("BEGIN; ROLLBACK");
  } catch (error) {
    if (!String(error).includes("within a transaction")) throw error;
    throw invalidOption("database is inside a transaction: give the store a handle of its own");
  }
}

function enterWal(database: SqliteDatabase): void {
  database.exec("PRAGMA journal_mode = WAL");
  if (pragma(database, "journal_mode") !== "wal") {
    throw invalidOption(
      "database cannot be set to WAL: open a file on a local disk (in a test, a file in a temporary folder), or use memoryStore for memory",
    );
  }
}

// Other columns are allowed if an INSERT may leave them out.
const INSPECT = `SELECT group_concat(name, ' '),
    group_concat(CASE
      WHEN name IN ('key', 'forget_at') THEN NULL
      WHEN name IN ('owner', 'lease_ends_at') THEN iif("notnull", name, NULL)
      ELSE iif("notnull" AND dflt_value IS NULL, name, NULL)
    END, ', '),
    (SELECT sql FROM sqlite_master WHERE name = ? COLLATE NOCASE)
  FROM (SELECT * FROM pragma_table_info(?) ORDER BY cid)`;

/** False if the table is missing. Throws `ConfigurationError` if the statements would fail on it. */
function isUsableTable(database: SqliteDatabase, table: string): boolean {
  const [names, required, sql] = valuesOf(database.prepare(INSPECT).get(table, table));
  if (typeof names !== "string") return false;
  const found = names.split(" ");
  const missing = TABLE_COLUMNS.filter((column) => !found.includes(column));
  const layout = layoutOf(String(sql));
  if (missing.length > 0) {
    throw unusable(table, `lacks columns of the store: ${missing.join(", ")}`, layout);
  }
  if (typeof required === "string") {
    const problem = `has columns that the store does not fill, NOT NULL without a default: ${required}`;
    throw unusable(table, problem, layout);
  }
  return true;
}

function prepareStatements(database: SqliteDatabase, table: string): DeliveriesTable {
  try {
    return deliveriesTable(database, table);
  } catch (error) {
    if (!/ON CONFLICT clause|is a view/.test(String(error))) throw error;
    throw unusable(table, "is not a table with a unique index on key alone", undefined);
  }
}

function unusable(table: string, problem: string, layout: number | undefined): ConfigurationError {
  const its = layout === undefined ? "" : ` (its layout is ${layout})`;
  return invalidOption(
    `table ${table} exists and ${problem}${its}: name another table, or add what is missing`,
  );
}

function pragma(database: SqliteDatabase, name: string): unknown {
  return valuesOf(database.prepare(`PRAGMA ${name}`).get())[0];
}

/** By position: a handle may be set to return rows as arrays. */
function valuesOf(row: unknown): unknown[] {
  return Object.values(Object(row) as object);
}
