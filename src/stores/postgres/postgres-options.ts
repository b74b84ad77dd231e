import { invalidOption } from "../../common/errors.js";
import { checkVersion, missingMethod, ownOptions } from "../../common/option-checks.js";
import { quotedTableName } from "../quoted-table.js";

/**
 * The own options of `maker`, which are `pool`, `table` and `more`.
 *
 * @throws ConfigurationError for an unknown option, and for a `pool` that lacks one of `methods`.
 */
export function poolOptions<Options extends { readonly pool: unknown }>(
  maker: string,
  options: Options,
  methods: readonly string[],
  more: readonly string[] = [],
): Options {
  const own = ownOptions(maker, options, ["pool", "table", ...more]);
  checkVersion("pool", own.pool, methods, "pg", "pg 8 and later");
  const missing = missingMethod(own.pool, methods);
  if (missing === undefined) return own;
  throw invalidOption(`pool must be a Pool of pg, with the method ${missing}`);
}

/**
 * Whether to prepare statements; false by default.
 *
 * @throws ConfigurationError if it is no boolean.
 */
export function prepareOption(prepare: unknown = false): boolean {
  if (typeof prepare === "boolean") return prepare;
  throw invalidOption("prepare must be true or false");
}

/**
 * `name` for use in SQL: each part in double quotes, so that a reserved word works too.
 *
 * @throws ConfigurationError if it is neither `table` nor `schema.table`.
 */
export function quotedTable(name?: string): string {
  // PostgreSQL truncates a longer name, so two tables could become one.
  return quotedTableName({ quote: '"', owner: "schema", maxLength: 63 }, name);
}
