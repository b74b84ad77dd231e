import { invalidOption } from "../../common/errors.js";
import { missingMethod, ownOptions } from "../../common/option-checks.js";
import { quotedTableName } from "../quoted-table.js";
import type { MysqlPool } from "./mysql-pool.js";

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
export function quotedTable(name?: string): string {
  return quotedTableName({ quote: "`", owner: "database", maxLength: 64 }, name);
}
