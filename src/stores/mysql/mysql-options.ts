import { invalidOption } from "../../common/errors.js";
import { missingMethod, ownOptions } from "../../common/option-checks.js";
import type { MysqlPool } from "./mysql-pool.js";

const DEFAULT_TABLE = "gateway_deliveries";

const IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]{0,63}";
const TABLE_NAME = new RegExp(`^(?:${IDENTIFIER}\\.)?${IDENTIFIER}$`);

/**
 * The own options of `maker`.
 *
 * @throws ConfigurationError for an unknown option, and for a `pool` that is none.
 */
export function poolOptions<Options extends { readonly pool: MysqlPool }>(
  maker: string,
  options: Options,
): Options {
  const own = ownOptions(maker, options, ["pool", "table"]);
  if (missingMethod(own.pool, ["getConnection"]) === undefined) return own;
  throw invalidOption("pool must be a pool of mysql2, with the method getConnection");
}

/**
 * `name` for use in SQL: each part in backticks, so that a reserved word works too.
 *
 * @throws ConfigurationError if it is neither `table` nor `database.table`.
 */
export function quotedTable(name: string = DEFAULT_TABLE): string {
  if (typeof name !== "string" || !TABLE_NAME.test(name)) {
    throw invalidOption(
      "table must be a name, or database.name, each of 1 to 64 letters, digits and _, with no digit first",
    );
  }
  return name
    .split(".")
    .map((part) => `\`${part}\``)
    .join(".");
}
