import { ConfigurationError } from "../../common/errors.js";

/** The table where none is named. */
const DEFAULT_TABLE = "gateway_deliveries";

// PostgreSQL cuts a longer name off, and two tables could become one.
const IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]{0,62}";
const TABLE_NAME = new RegExp(`^(?:${IDENTIFIER}\\.)?${IDENTIFIER}$`);

/**
 * `name` as it stands in SQL: each part in double quotes, so that a reserved word is a name too. Throws
 * `ConfigurationError` for what is no `table` or `schema.table`.
 */
export function quotedTable(name: string = DEFAULT_TABLE): string {
  if (typeof name !== "string" || !TABLE_NAME.test(name)) {
    throw new ConfigurationError(
      "invalid_option",
      "table has to be a name, or schema.name, each of 1 to 63 letters, digits and _, with no digit first",
    );
  }
  return name
    .split(".")
    .map((part) => `"${part}"`)
    .join(".");
}
