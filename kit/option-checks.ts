import { ConfigurationError } from "../src/common/errors.js";
import type { IntegerRule } from "../src/common/option-checks.js";

/** Throws `ConfigurationError` with this message unless `holds`. */
export function checkOption(holds: boolean, message: string): asserts holds {
  if (!holds) throw new ConfigurationError("invalid_option", message);
}

/** Throws `ConfigurationError` unless each of these options is a function or left out. */
export function checkHooks(hooks: Readonly<Record<string, unknown>>): void {
  for (const [name, hook] of Object.entries(hooks)) {
    checkOption(hook === undefined || typeof hook === "function", `${name} must be a function`);
  }
}

/**
 * The value of an option that is a number, or its default when it is undefined. Like `integerOption`, but
 * fractions are allowed. Throws `ConfigurationError` for a value out of bounds.
 */
export function numberOption(
  name: string,
  value: unknown,
  { fallback, min, max }: IntegerRule,
): number {
  if (value === undefined) return fallback;
  // NaN is within no bounds.
  const isWithin = typeof value === "number" && value >= min && value <= max;
  const bounds = `${String(min)} to ${String(max)}`;
  const rule = `${name} must be a number from ${bounds}; leave it out for ${String(fallback)}`;
  checkOption(isWithin, rule);
  return value;
}
