import { invalidOption } from "../common/errors.js";

/** The name of the table where none is given. */
export const DEFAULT_TABLE = "gateway_deliveries";

/** How a database names its tables. */
interface TableNames {
  readonly quote: string;
  /** What holds tables. */
  readonly owner: "database" | "schema";
  /** Of each part of the name. */
  readonly maxLength: number;
}

/**
 * `name` for use in SQL: each part in quotes, so that a reserved word works too.
 *
 * @throws ConfigurationError if it is neither `table` nor `owner.table`.
 */
export function quotedTableName(
  { quote, owner, maxLength }: TableNames,
  name: unknown = DEFAULT_TABLE,
): string {
  const part = `[A-Za-z_][A-Za-z0-9_]{0,${String(maxLength - 1)}}`;
  if (typeof name === "string" && new RegExp(`^(?:${part}\\.)?${part}$`).test(name)) {
    return quote + name.replace(".", `${quote}.${quote}`) + quote;
  }
  throw invalidOption(
    `table must be a name, or ${owner}.name, each of 1 to ${String(maxLength)} letters, digits and _, with no digit first`,
  );
}
