// The table of deliveries in SQLite, the same for `sqliteStore` and `d1Store`.
import { invalidOption } from "../common/errors.js";

/** The columns that the statements use. A table may have more. */
export const TABLE_COLUMNS = ["key", "owner", "lease_ends_at", "takeover", "forget_at"];

/**
 * The number after this name is the layout of the table. It is the name of a constraint in the text of
 * CREATE TABLE, so it costs no page and no statement. A later release adds columns by ALTER TABLE, puts
 * its own number into the constraint of a new column, and never changes what a column means. The highest
 * number counts. So this release works on a table of a later layout, and a later release can tell what
 * it must add.
 */
const LAYOUT = "identity_gateway_webhooks_layout_";

/**
 * The statement that creates the table. Times are Unix milliseconds. A row without an owner is completed.
 * A row whose `forget_at` has passed counts as absent. `takeover` is 1 once an earlier lease ended without
 * a result.
 */
export function createTableSql(table: string): string {
  return `CREATE TABLE IF NOT EXISTS "${table}" (
  key TEXT NOT NULL CONSTRAINT ${LAYOUT}1 PRIMARY KEY,
  owner TEXT,
  lease_ends_at INTEGER,
  takeover INTEGER NOT NULL DEFAULT 0,
  forget_at INTEGER NOT NULL
) WITHOUT ROWID`;
}

/** The layout of a table, from its CREATE TABLE text; undefined for a table that carries no number. */
export function layoutOf(createTable: string): number | undefined {
  const found = [...createTable.matchAll(new RegExp(`${LAYOUT}(\\d{1,9})`, "g"))];
  return found.length === 0 ? undefined : Math.max(...found.map(([, number]) => Number(number)));
}

/**
 * The database's clock in whole milliseconds, one value in all of a statement. 2440587.5 is the Julian day
 * of 1970.
 */
export const NOW = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)";

const TABLE_NAME = /^[A-Za-z_][0-9A-Za-z_]{0,63}$/;
/** The prefixes of the engines' own tables: of SQLite, and of Cloudflare on D1. */
const RESERVED = /^(?:sqlite_|_cf_)/i;

/**
 * The name of the table, `gateway_deliveries` if it is undefined.
 *
 * @throws ConfigurationError (`invalid_option`) if it is not a name that both engines take.
 */
export function tableName(table: unknown = "gateway_deliveries"): string {
  if (typeof table === "string" && TABLE_NAME.test(table) && !RESERVED.test(table)) return table;
  throw invalidOption(
    "table must be 1 to 64 letters, digits and _, with no digit first, and no sqlite_ or _cf_ in front",
  );
}

/** The statements that SQLite and D1 share, on `rows`, a quoted name. Their parameters have no numbers. */
export function deliveryStatements(rows: string) {
  return {
    /** Parameters: lease, lease, key, owner. */
    renew: `UPDATE ${rows} SET lease_ends_at = ${NOW} + ?, forget_at = max(forget_at, ${NOW} + ?)
      WHERE key = ? AND owner = ? AND lease_ends_at > ${NOW}`,
    /** Parameters: key, retention. */
    complete: `INSERT INTO ${rows} AS held (key, forget_at) VALUES (?, ${NOW} + ?)
      ON CONFLICT (key) DO UPDATE SET owner = NULL, lease_ends_at = NULL, forget_at = excluded.forget_at
      WHERE held.owner IS NOT NULL OR held.forget_at <= ${NOW}`,
    /** Parameters: key, owner. A takeover keeps its row and only its lease ends, so that the next claim is one too. */
    endTakeover: `UPDATE ${rows} SET lease_ends_at = ${NOW} WHERE key = ? AND owner = ? AND takeover = 1`,
    /** Parameters: key, owner. */
    forget: `DELETE FROM ${rows} WHERE key = ? AND owner = ? AND takeover IS NOT 1`,
  };
}
