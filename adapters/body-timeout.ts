import { refuseUnknownOptions } from "../src/known-options.js";
import { MAX_TIMER_MS, integerOption } from "../src/integer-option.js";

/** The option that every adapter has. */
export interface BodyTimeoutOption {
  /**
   * The longest silence of an upload before it is answered 408 and the connection closed.
   * Milliseconds, from 1 to 2 147 483 647, default 10 000.
   */
  bodyTimeoutMs?: number | undefined;
}

/** `bodyTimeoutMs`, or its default. Throws `ConfigurationError` out of bounds, or for another option. */
export function checkBodyTimeout(options: BodyTimeoutOption): number {
  refuseUnknownOptions(options, ["bodyTimeoutMs"]);
  return integerOption("bodyTimeoutMs", options.bodyTimeoutMs, {
    fallback: 10_000,
    min: 1,
    max: MAX_TIMER_MS,
  });
}
