import { ConfigurationError } from "../../configuration-error.js";
import {
  TABLE_COLUMNS,
  createDeliveriesTable,
  createTableSql,
  type DeliveriesTable,
} from "./deliveries-table.js";
import { isLocked } from "./locked.js";
import type { SqliteDatabase } from "./sqlite-database.js";
import { createWriteTransactions, type WriteTransactions } from "./write-transactions.js";

/** The table of a file that is ready for it. */
export interface Deliveries {
  readonly table: DeliveriesTable;
  readonly writes: WriteTransactions;
}

/** How long other processes that open the same file are waited for. */
const OPENING_TIMEOUT_MS = 5_000;
/** PRAGMA synchronous that does more than FULL. */
const EXTRA = 3;

/**
 * Sets the handle and its file up, makes the table where it is missing, and prepares the statements.
 * Several processes may do so at once. Synchronous, so it may stop the process for the while.
 *
 * @throws ConfigurationError where nothing would outlive the process, or the table is not the store's.
 */
export function openDeliveries(database: SqliteDatabase, table: string): Deliveries {
  checkIdle(database);
  const busyTimeoutMs = Number(pragma(database, "busy_timeout"));
  const writes = createWriteTransactions(database, busyTimeoutMs);
  try {
    database.exec(`PRAGMA busy_timeout = ${OPENING_TIMEOUT_MS}`);
    enterWal(database);
    // Said even where it reads FULL: better-sqlite3 is built to fall back to NORMAL in WAL unless told.
    if (Number(pragma(database, "synchronous")) !== EXTRA) {
      database.exec("PRAGMA synchronous = FULL");
    }
    database.exec(createTableSql(table));
    checkColumns(database, table);
    const deliveries = createDeliveriesTable(database, table);
    // Writes nothing, but a handle that cannot write fails here and not at the first delivery.
    deliveries.release("", "");
    return { table: deliveries, writes };
  } finally {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
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
  const giveUpAt = performance.now() + OPENING_TIMEOUT_MS;
  for (;;) {
    try {
      if (pragma(database, "journal_mode") === "wal") return;
      database.exec("PRAGMA journal_mode = WAL");
      if (pragma(database, "journal_mode") !== "wal") throw notDurable();
    } catch (error) {
      // Where two processes could wait for each other, SQLite refuses one of them without any wait.
      if (!isLocked(error) || performance.now() >= giveUpAt) throw error;
    }
  }
}

function notDurable(): ConfigurationError {
  return new ConfigurationError(
    "invalid_option",
    "database cannot be set to WAL: open a file on a local disk; memoryStore is what lives in memory",
  );
}

function checkColumns(database: SqliteDatabase, table: string): void {
  const list = database
    .prepare(
      "SELECT group_concat(name, ' ') FROM (SELECT name FROM pragma_table_info(?) ORDER BY cid)",
    )
    .get(table);
  if (firstOf(list) === TABLE_COLUMNS.join(" ")) return;
  throw new ConfigurationError(
    "invalid_option",
    `table ${table} exists and is not the store's: give the name of another`,
  );
}

function pragma(database: SqliteDatabase, name: string): unknown {
  return firstOf(database.prepare(`PRAGMA ${name}`).get());
}

function firstOf(row: unknown): unknown {
  return Object.values(Object(row) as object)[0];
}
