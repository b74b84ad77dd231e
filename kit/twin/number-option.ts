import { ConfigurationError } from "../../src/common/errors.js";
import type { IntegerRule } from "../../src/common/option-checks.js";

/**
 * The value of an option that is a number, or its default when it is undefined. Like `integerOption`, but
 * fractions are allowed.
 *
 * @throws ConfigurationError for a value out of bounds.
 */
export function numberOption(
  name: string,
  value: unknown,
  { fallback, min, max }: IntegerRule,
): number {
  if (value === undefined) return fallback;
  // The comparison is negated so that NaN is refused too.
  if (typeof value !== "number" || !(value >= min && value <= max)) {
    const bounds = `${String(min)} to ${String(max)}`;
    throw new ConfigurationError(
      "invalid_option",
      `${name} must be a number from ${bounds}; leave it out for ${String(fallback)}`,
    );
  }
  return value;
}
