import { ConfigurationError } from "../../common/errors.js";
import { ownOptions } from "../../common/option-checks.js";

/** The own options. Refuses those that are unknown, and a `pool` that lacks a method. */
export function poolOptions<Options extends { readonly pool: unknown }>(
  maker: string,
  options: Options,
  methods: readonly string[],
): Options {
  const own = ownOptions(maker, options, ["pool", "table"]);
  const { pool } = own;
  const missing = methods.find(
    (method) =>
      typeof pool !== "object" ||
      pool === null ||
      typeof (pool as Record<string, unknown>)[method] !== "function",
  );
  if (missing === undefined) return own;
  throw new ConfigurationError(
    "invalid_option",
    `pool has to be a Pool of pg, with the method ${missing}`,
  );
}
