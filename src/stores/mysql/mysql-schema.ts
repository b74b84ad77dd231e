import { invalidOption } from "../../common/errors.js";
import type { MysqlResult } from "./connection.js";
import { quotedTable } from "./mysql-options.js";
import { TEXT_BYTES } from "./sql-text.js";

/**
 * The table's comment ends with the number of its layout. A later release adds columns, changes the
 * comment, and never changes what a column means. So this release works on a table of a later layout, and
 * a later release can tell what it must add. It is not the name of a constraint, as in PostgreSQL: in
 * MySQL that name would be taken for the whole database.
 */
const LAYOUT = "identity_gateway_webhooks_layout_";

/**
 * The SQL that creates the table of `mysqlStore` and `mysqlTransactions`. `migrate()` runs the same text,
 * and the package contains it for the default table as `sql/mysql.sql`. Running it again changes nothing.
 *
 * Create the database first if `table` names one. Grant the receiver's user SELECT, INSERT, UPDATE and
 * DELETE on the table; it needs no other right.
 *
 * @param table `table` or `database.table`, each part 1 to 64 letters, digits and `_` with no digit first.
 * Default `gateway_deliveries`.
 * @throws ConfigurationError (`invalid_option`) if `table` is not such a name.
 * @example
 * writeFileSync("migrations/001_webhooks.sql", mysqlSchema("webhooks.deliveries"));
 */
export function mysqlSchema(table?: string): string {
  // There is no index on expires_at, which would take as much space again. purge() reads the whole table
  // instead.
  return `-- identity-gateway-webhooks/mysql: the deliveries that were handled or are being handled.
CREATE TABLE IF NOT EXISTS ${quotedTable(table)} (
  -- X-Webhook-Id. Bytes: the default collations take ids for equal that differ in case.
  \`key\` varbinary(${String(TEXT_BYTES)}) NOT NULL PRIMARY KEY,
  -- The holder of the lease; NULL once the delivery is handled.
  owner varbinary(${String(TEXT_BYTES)}),
  -- The end of the lease of a delivery that is being handled, in Unix milliseconds; NULL once it is handled.
  lease_until bigint,
  -- The row counts as absent from this time on, in Unix milliseconds, and purge() removes it.
  expires_at bigint NOT NULL,
  -- Whether an earlier lease ended without a result.
  takeover boolean NOT NULL DEFAULT false
) ENGINE = InnoDB COMMENT = '${LAYOUT}1';
`;
}

const TEXT = {
  type: `varbinary(${String(TEXT_BYTES)})`,
  fits: `LOWER(data_type) = 'varbinary' AND character_maximum_length >= ${String(TEXT_BYTES)}`,
};
const integer = (type: string, storedAs = type) => ({
  type,
  fits: `LOWER(data_type) = '${storedAs}' AND column_type NOT LIKE '%unsigned%'`,
});
/** The columns of the store: the type of each, and SQL that is true for a column of that type. */
const NEEDED = {
  key: TEXT,
  owner: TEXT,
  lease_until: integer("bigint"),
  expires_at: integer("bigint"),
  takeover: integer("boolean", "tinyint"),
};

/**
 * Whether the table exists; `table` is the quoted name. Reads only the catalogue, so it needs no right to
 * change anything.
 *
 * @throws ConfigurationError if the stores cannot use it: every delivery would be answered 503.
 */
export async function isTableThere(
  read: (sql: string) => Promise<MysqlResult>,
  table: string,
): Promise<boolean> {
  const [name, database] = table.replaceAll("`", "").split(".").reverse();
  const where = [
    `table_schema = ${database === undefined ? "DATABASE()" : `'${database}'`}`,
    `table_name = '${String(name)}'`,
  ].join(" AND ");
  const { rows } = await read(
    `SELECT table_type AS type, engine AS engine, table_comment AS comment
      FROM information_schema.tables WHERE ${where}`,
  );
  const [found] = rows as readonly Record<string, unknown>[];
  if (found === undefined) return false;
  const problem =
    found["type"] !== "BASE TABLE"
      ? "is not a table"
      : String(found["engine"]).toLowerCase() !== "innodb"
        ? "is not a table of InnoDB"
        : ((await columnProblem(read, where)) ?? (await keyProblem(read, where)));
  if (problem === undefined) return true;
  const layout = new RegExp(`${LAYOUT}(\\d{1,9})`).exec(String(found["comment"]))?.[1];
  throw invalidOption(
    `table ${table} exists and ${problem}${layout === undefined ? "" : ` (its layout is ${layout})`}: ` +
      "name another table, or add what is missing (mysqlSchema)",
  );
}

async function columnProblem(
  read: (sql: string) => Promise<MysqlResult>,
  where: string,
): Promise<string | undefined> {
  const fits = Object.entries(NEEDED).map(([name, column]) => `WHEN '${name}' THEN ${column.fits}`);
  const { rows } = await read(
    // Other columns are allowed if an INSERT may leave them out.
    `SELECT LOWER(column_name) AS name,
        CASE LOWER(column_name) ${fits.join(" ")} END AS fits,
        is_nullable = 'NO' AND CASE
          WHEN LOWER(column_name) IN ('key', 'expires_at') THEN FALSE
          WHEN LOWER(column_name) IN ('owner', 'lease_until') THEN TRUE
          ELSE column_default IS NULL AND extra NOT LIKE '%auto_increment%'
            AND extra NOT LIKE '%GENERATED%'
        END AS is_required
      FROM information_schema.columns WHERE ${where} ORDER BY ordinal_position`,
  );
  const columns = rows as readonly { name: unknown; fits: unknown; is_required: unknown }[];
  const fitting = columns.filter((column) => Number(column.fits) === 1);
  const found = new Set(fitting.map(({ name }) => String(name)));
  const missing = Object.entries(NEEDED).filter(([name]) => !found.has(name));
  if (missing.length > 0) {
    const needed = missing.map(([name, { type }]) => `${name} ${type}`);
    return `lacks columns of the store: ${needed.join(", ")}`;
  }
  const required = columns.filter((column) => Number(column.is_required) === 1);
  if (required.length === 0) return undefined;
  const names = required.map(({ name }) => String(name)).join(", ");
  return `has columns that the store does not fill, NOT NULL without a default: ${names}`;
}

async function keyProblem(
  read: (sql: string) => Promise<MysqlResult>,
  where: string,
): Promise<string | undefined> {
  const { rows } = await read(
    `SELECT index_name FROM information_schema.statistics WHERE ${where} AND non_unique = 0
      GROUP BY index_name
      HAVING COUNT(*) = 1 AND MAX(column_name) = 'key' AND MAX(sub_part) IS NULL`,
  );
  return rows.length > 0 ? undefined : "has no unique index on key alone";
}
