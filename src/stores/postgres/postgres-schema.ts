import { quotedTable } from "./table-name.js";

/**
 * The DDL of the table that `postgresStore` and `postgresTransactions` use, as `migrate()` runs it; for
 * the default table the package has it as `sql/postgres.sql`. May be run again and again. A schema that
 * is named has to exist. The role of the receiver then needs SELECT, INSERT, UPDATE and DELETE on the
 * table, and nothing else.
 *
 * @throws ConfigurationError for a `table` that is no name.
 */
export function postgresSchema(table?: string): string {
  // Columns of fixed width stand first, where they need no padding. Without a second index, on
  // expires_at, a completion touches no index (HOT), which saves 62 bytes an id; purge reads the table
  // instead, 42 ms for a million ids.
  return `-- Which webhook deliveries were handled, or are being handled: identity-gateway-webhooks/postgres.
CREATE TABLE IF NOT EXISTS ${quotedTable(table)} (
  -- From then on the row counts as absent; purge() removes it.
  expires_at timestamptz NOT NULL,
  -- How long the lease of a delivery that is being handled holds unless renewed; NULL once handled.
  lease_until timestamptz,
  -- X-Webhook-Id. "C": compared by its bytes, whatever the collations of the operating system become.
  key text COLLATE "C" PRIMARY KEY,
  -- Who holds the lease; NULL once handled.
  owner text COLLATE "C",
  -- Whether an earlier lease ended without a verdict.
  takeover boolean NOT NULL DEFAULT false,
  CHECK ((owner IS NULL) = (lease_until IS NULL))
);
`;
}
