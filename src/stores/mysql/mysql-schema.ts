import { invalidOption } from "../../common/errors.js";
import type { MysqlResult } from "./connection.js";
import { quotedTable } from "./mysql-pool.js";
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

const NO_TABLE = 1146;
/**
 * What the server says of a table that does not fit: a column that is missing, must be filled or takes no such value,
 * a view that takes no rows. Other errors say nothing of the table: a lost connection, a missing right.
 */
const MISFITS = [1048, 1054, 1264, 1288, 1292, 1364, 1366, 1394, 1406, 1471];
/** Milliseconds that only a signed column of 64 bits takes. */
const TIME = "-9007199254740991";

/**
 * Whether the table exists; `table` is the quoted name. Inserts three rows as the stores do, in a transaction that is
 * rolled back, so it needs the same rights.
 *
 * @throws ConfigurationError if the stores cannot use it: every delivery would be answered 503.
 */
export async function isTableThere(
  send: (sql: string) => Promise<MysqlResult>,
  table: string,
): Promise<boolean> {
  let problem: string | undefined;
  try {
    problem = await trialProblem(send, table);
  } catch (error) {
    const { errno, message } = Object(error) as { errno?: unknown; message?: unknown };
    if (errno === NO_TABLE) return false;
    if (!MISFITS.includes(Number(errno))) throw error;
    problem = String(message);
  }
  if (problem === undefined) return true;
  throw invalidOption(
    `table ${table} exists and cannot be used (${problem}): name another table, or add what is missing (mysqlSchema)`,
  );
}

async function trialProblem(send: (sql: string) => Promise<MysqlResult>, table: string) {
  await send(`SELECT \`key\`, owner, lease_until, expires_at, takeover FROM ${table} LIMIT 0`);
  // As long as the longest key. No delivery has a # in its id, and no other process has this key.
  const long = `probe#${globalThis.crypto.randomUUID()}`.padEnd(TEXT_BYTES - 1, "-");
  const [key, otherCase] = [`'${long}k'`, `'${long}K'`];
  await send("START TRANSACTION");
  // A table that is not unique by the key alone gets all three rows. One that folds letter case, or is unique by a part
  // of the key, gets one.
  await send(`INSERT INTO ${table} (\`key\`, owner, lease_until, expires_at, takeover) VALUES
      (${key}, 'a', ${TIME}, ${TIME}, true),
      (${key}, 'b', ${TIME}, ${TIME}, true),
      (${otherCase}, NULL, NULL, ${TIME}, false)
    ON DUPLICATE KEY UPDATE takeover = takeover`);
  const { rows } = await send(
    // A server that is not strict stores another value than it was given.
    `SELECT COUNT(*) AS stored, COUNT(CASE WHEN expires_at = ${TIME} AND CASE owner
        WHEN 'a' THEN lease_until = ${TIME} AND takeover ELSE lease_until IS NULL AND NOT takeover
      END THEN 1 END) AS fitting
      FROM ${table} WHERE \`key\` IN (${key}, ${otherCase})`,
  );
  await send("ROLLBACK AND NO CHAIN NO RELEASE");
  const { affectedRows } = await send(
    `DELETE FROM ${table} WHERE \`key\` IN (${key}, ${otherCase})`,
  );
  if (affectedRows > 0) return "its engine has no transactions: it needs InnoDB";
  const { stored, fitting } = Object(rows[0]) as { stored?: unknown; fitting?: unknown };
  if (Number(stored) > 2) return "it has no unique index on key alone";
  if (Number(stored) === 1) return "its keys fold letter case, or only a part of a key is unique";
  return Number(fitting) === 2 ? undefined : "it does not store what it is given";
}
