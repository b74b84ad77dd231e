import { ConfigurationError } from "../../common/errors.js";
import { integerOption, ownOptions } from "../../common/option-checks.js";

/**
 * How the gateway writes a moment (GATEWAY.md, "Versioning", rules 2 and 3): `legacy` is
 * `YYYY-MM-DD HH:MM:SS`, `standardized` ISO 8601 with `Z`.
 */
export type DateFormat = "legacy" | "standardized";

/** Options of the samples. */
export interface SampleOptions {
  /**
   * Decides every value: the same seed, the same record. A whole number from 0 to 4 294 967 295,
   * default 0.
   */
  readonly seed?: number | undefined;
  /** How dates are written. Default `legacy` in an alarm; in an event ISO 8601 with an offset. */
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
  if (format !== undefined && (format as string) !== "legacy" && format !== "standardized") {
    throw new ConfigurationError("invalid_option", 'format has to be "legacy" or "standardized"');
  }
  const seed = integerOption("seed", own.seed, { fallback: 0, min: 0, max: 0xffff_ffff });
  return { seed, format };
}
