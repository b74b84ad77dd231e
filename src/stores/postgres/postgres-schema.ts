import { invalidOption } from "../../common/errors.js";
import type { PostgresPool } from "./postgres-pool.js";
import { quotedTable } from "./postgres-options.js";

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

// Other columns are allowed if an INSERT may leave them out.
const INSPECT = `
  SELECT relkind IN ('r', 'p') AS is_table,
    (
      SELECT string_agg(name || ' ' || type, ', ')
      FROM (VALUES ('expires_at', 'timestamptz'), ('key', 'text'), ('lease_until', 'timestamptz'),
        ('owner', 'text'), ('takeover', 'boolean')) AS needed (name, type)
      WHERE NOT EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = pg_class.oid AND NOT attisdropped AND attname = name
          AND atttypid = type::regtype
      )
    ) AS missing,
    (
      SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute
      WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attnotnull AND CASE
        WHEN attname IN ('key', 'expires_at') THEN false
        WHEN attname IN ('owner', 'lease_until') THEN true
        ELSE NOT atthasdef AND attidentity = ''
      END
    ) AS required,
    EXISTS (
      SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
      WHERE indrelid = pg_class.oid AND attname = 'key' AND indnkeyatts = 1
        AND indisunique AND indisvalid AND indimmediate AND indpred IS NULL
    ) AS is_key_unique,
    (
      SELECT max(substring(conname FROM '^${LAYOUT}([0-9]{1,9})$')::int)
      FROM pg_constraint WHERE conrelid = pg_class.oid
    ) AS layout
  FROM pg_class WHERE oid = to_regclass($1)`;

interface Inspected {
  readonly is_table: boolean;
  /** The needed columns that are missing or have another type. */
  readonly missing: string | null;
  /** The columns that an INSERT of the store would have to fill. */
  readonly required: string | null;
  readonly is_key_unique: boolean;
  readonly layout: number | null;
}

/**
 * Whether the table exists; `table` is the quoted name. Reads only the catalogue, so it needs no right
 * and waits for no lock.
 *
 * @throws ConfigurationError if the stores cannot use it: every delivery would be answered 503.
 */
export async function isTableThere(pool: PostgresPool, table: string): Promise<boolean> {
  const { rows } = await pool.query(INSPECT, [table]);
  const [row] = rows as readonly Inspected[];
  if (row === undefined) return false;
  const problem = problemOf(row);
  if (problem === undefined) return true;
  const layout = row.layout === null ? "" : ` (its layout is ${String(row.layout)})`;
  throw invalidOption(
    `table ${table} exists and ${problem}${layout}: name another table, or add what is missing (postgresSchema)`,
  );
}

function problemOf(found: Inspected): string | undefined {
  if (!found.is_table) return "is not a table";
  if (found.missing !== null) return `lacks columns of the store: ${found.missing}`;
  if (found.required !== null) {
    return `has columns that the store does not fill, NOT NULL without a default: ${found.required}`;
  }
  return found.is_key_unique ? undefined : "has no unique index on key alone";
}
