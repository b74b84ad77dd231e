import { integerOption, ownOptions } from "../common/option-checks.js";

/** Options of `purge`. */
export interface PurgeOptions {
  /** How many rows one DELETE removes. 1 to 100 000, default 1 000. */
  batchRows?: number | undefined;
}

/**
 * The rows of one batch.
 *
 * @throws ConfigurationError for an unknown option, and for a number out of its bounds.
 */
export function batchRowsOf(options: PurgeOptions): number {
  const { batchRows } = ownOptions("purge", options, ["batchRows"]);
  return integerOption("batchRows", batchRows, { fallback: 1_000, min: 1, max: 100_000 });
}
