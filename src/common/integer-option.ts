import { ConfigurationError } from "./configuration-error.js";

/** Default and bounds of an option that is a whole number. Both bounds are allowed values. */
export interface IntegerRule {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

/** The longest delay of a timer: beyond it `setTimeout` fires at once. */
export const MAX_TIMER_MS = 2_147_483_647;

/** `value`, or its default where it is undefined. Throws `ConfigurationError` out of bounds. */
export function integerOption(
  name: string,
  value: unknown,
  { fallback, min, max }: IntegerRule,
): number {
  if (value === undefined) return fallback;
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
    const bounds = `${String(min)} to ${String(max)}`;
    throw new ConfigurationError(
      "invalid_option",
      `${name} has to be a whole number from ${bounds}; leave it out for ${String(fallback)}`,
    );
  }
  return value;
}
