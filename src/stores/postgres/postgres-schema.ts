import { invalidOption } from "../../common/errors.js";
import { type PostgresPool, type PostgresResult, quotedTable } from "./postgres-pool.js";

/**
 * The name of the table's CHECK constraint ends with the number of its layout. A later release adds
 * columns, renames the constraint, and never changes what a column means. So this release works on a
 * table of a later layout, and a later release can tell what it must add.
 */
const LAYOUT = "identity_gateway_webhooks_layout_";

/**
 * The SQL that creates the table of `postgresStore` and `postgresTransactions`. `migrate()` runs the same
 * text, and the package contains it for the default table as `sql/postgres.sql`. Running it again changes
 * nothing.
 *
 * Create the schema first if `table` names one. Grant the receiver's role SELECT, INSERT, UPDATE and
 * DELETE on the table; it needs no other right.
 *
 * @param table `table` or `schema.table`, each part 1 to 63 letters, digits and `_` with no digit first,
 * case-sensitive. Default `gateway_deliveries`.
 * @throws ConfigurationError (`invalid_option`) if `table` is not such a name.
 * @example
 * writeFileSync("migrations/001_webhooks.sql", postgresSchema("webhooks.deliveries"));
 */
export function postgresSchema(table?: string): string {
  // Columns of fixed width come first, where they need no padding. There is no index on expires_at, so a
  // completion touches no index (HOT), which saves 62 bytes an id. purge() reads the whole table instead:
  // 42 ms for a million ids.
  return `-- identity-gateway-webhooks/postgres: the deliveries that were handled or are being handled.
CREATE TABLE IF NOT EXISTS ${quotedTable(table)} (
  -- The row counts as absent from this time on, and purge() removes it.
  expires_at timestamptz NOT NULL,
  -- The end of the lease of a delivery that is being handled; NULL once it is handled.
  lease_until timestamptz,
  -- X-Webhook-Id. "C" compares bytes, so an update of the operating system's collations breaks no index.
  key text COLLATE "C" PRIMARY KEY,
  -- The holder of the lease; NULL once the delivery is handled.
  owner text COLLATE "C",
  -- Whether an earlier lease ended without a result.
  takeover boolean NOT NULL DEFAULT false,
  CONSTRAINT ${LAYOUT}1 CHECK ((owner IS NULL) = (lease_until IS NULL))
);
`;
}

/** The columns that the stores use, and their types in the words of `pg_typeof`. */
const TYPES = {
  key: "text",
  owner: "text",
  lease_until: "timestamp with time zone",
  expires_at: "timestamp with time zone",
  takeover: "boolean",
};
const COLUMNS = Object.keys(TYPES);
const NO_TABLE = "42P01";
/**
 * What the server says of a table that does not fit: no such column or unique index, a value that is refused, a view.
 * Other errors say nothing of the table: a lost connection, a missing right, a server that only reads.
 */
const MISFIT = /^(?!42501)(?:22|23|42|0A|55000)/;

/**
 * Whether the table exists; `table` is the quoted name. Inserts three rows as the stores do, in a transaction that is
 * rolled back, so it needs the same rights.
 *
 * @throws ConfigurationError if the stores cannot use it: every delivery would be answered 503.
 */
export async function isTableThere(pool: PostgresPool, table: string): Promise<boolean> {
  let problem: string | undefined;
  try {
    problem = (await typeProblem(pool, table)) ?? (await keyProblem(pool, table));
  } catch (error) {
    const { code, message } = Object(error) as { code?: unknown; message?: unknown };
    if (code === NO_TABLE) return false;
    if (typeof code !== "string" || !MISFIT.test(code)) throw error;
    problem = String(message);
  }
  if (problem === undefined) return true;
  throw invalidOption(
    `table ${table} exists and cannot be used (${problem}): name another table, or add what is missing (postgresSchema)`,
  );
}

/** Asks for the type of each column without reading a row. */
async function typeProblem(pool: PostgresPool, table: string): Promise<string | undefined> {
  const types = COLUMNS.map((column) => `pg_typeof(t.${column})::text AS ${column}`);
  const { rows } = await pool.query(
    `SELECT ${types.join(", ")} FROM (VALUES (1)) AS one LEFT JOIN ${table} AS t ON false`,
  );
  const found = Object(rows[0]) as Readonly<Record<string, unknown>>;
  const wrong = Object.entries(TYPES).filter(([column, type]) => found[column] !== type);
  if (wrong.length === 0) return undefined;
  return wrong.map(([column, type]) => `${column} is not ${type}`).join(", ");
}

/** A key, the same key and the key in the other letter case: the table must take the first and the last. */
async function keyProblem(pool: PostgresPool, table: string): Promise<string | undefined> {
  // No delivery has a # in its id, and no other process has this key.
  const key = `probe#${globalThis.crypto.randomUUID()}`;
  // A text without parameters is one transaction. If a statement fails, the server rolls it back by itself.
  const results: unknown = await pool.query(`
    INSERT INTO ${table} (${COLUMNS.join(", ")}) VALUES
      ('${key}', 'a', clock_timestamp(), clock_timestamp(), true),
      ('${key}', 'b', clock_timestamp(), clock_timestamp(), true),
      ('${key.toUpperCase()}', NULL, NULL, clock_timestamp(), false)
    ON CONFLICT (key) DO NOTHING;
    ROLLBACK`);
  const [inserted] = results as readonly PostgresResult[];
  return Number(inserted?.rowCount) === 2
    ? undefined
    : "it takes two keys for one that differ in letter case";
}
