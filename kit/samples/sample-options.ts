import { checkOption } from "../option-checks.js";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";

/**
 * The gateway's format of a time (GATEWAY.md, "Versioning", rules 2 and 3): `legacy` is `YYYY-MM-DD HH:MM:SS`,
 * `standardized` is ISO 8601 with `Z`.
 *
 * @experimental
 */
export type DateFormat = "legacy" | "standardized";

/**
 * Options of the samples.
 *
 * @experimental
 */
export interface SampleOptions {
  /**
   * Seed of the generated values: the same seed gives the same record. A whole number from 0 to 4 294 967 295,
   * default 0.
   */
  readonly seed?: number | undefined;
  /** Format of dates. Default: `legacy` in an alarm, ISO 8601 with an offset in an event. */
  readonly format?: DateFormat | undefined;
}

/** Checks the options. Throws `ConfigurationError`. */
export function checkSampleOptions(
  maker: string,
  options: SampleOptions,
): {
  readonly seed: number;
  readonly format: DateFormat | undefined;
} {
  const own = ownOptions(maker, options, ["seed", "format"]);
  const { format } = own;
  const isFormat = [undefined, "legacy", "standardized"].includes(format);
  checkOption(isFormat, 'format must be "legacy" or "standardized"');
  const seed = integerOption("seed", own.seed, { fallback: 0, min: 0, max: 0xffff_ffff });
  return { seed, format };
}
