import { ConfigurationError } from "../../configuration-error.js";
import { refuseUnknownOptions } from "../../known-options.js";

/** Refuses options that are unknown, and a `pool` that lacks a method. */
export function checkPoolOptions(
  options: { readonly pool: unknown },
  methods: readonly string[],
): void {
  // What JavaScript passes, or a cast: it is to be told what is missing.
  const { pool, ...others } = { ...options };
  refuseUnknownOptions(others, ["pool", "table"]);
  const missing = methods.find(
    (method) =>
      typeof pool !== "object" ||
      pool === null ||
      typeof (pool as Record<string, unknown>)[method] !== "function",
  );
  if (missing === undefined) return;
  throw new ConfigurationError(
    "invalid_option",
    `pool has to be a Pool of pg, with the method ${missing}`,
  );
}
