import { createTableSql, tableName } from "../sqlite-table.js";

/**
 * The SQL that creates the table of `d1Store`, for a migration of wrangler. The package contains it for
 * the default table as `sql/d1.sql`. Running it again changes nothing.
 *
 * @param table 1 to 64 letters, digits and `_`, with no digit first and no `sqlite_` or `_cf_` in front.
 * Default `gateway_deliveries`.
 * @throws ConfigurationError (`invalid_option`) if `table` is not such a name.
 * @example
 * writeFileSync("migrations/0001_gateway_deliveries.sql", d1Schema());
 * @example In a test, where wrangler applies no migration.
 * await env.DB.prepare(d1Schema()).run();
 */
export function d1Schema(table?: string): string {
  return `-- identity-gateway-webhooks/cloudflare: the deliveries that were handled or are being handled.
-- Times are Unix milliseconds. A row without an owner is handled. A row counts as absent from its
-- forget_at on, and purge() removes it.
${createTableSql(tableName(table))};
`;
}
