import { MAX_TIMER_MS, integerOption } from "../src/integer-option.js";
import { refuseUnknownOptions } from "../src/known-options.js";
import type { WebhookReceiver } from "../src/receiver.js";

/** The option that every adapter has. */
export interface BodyTimeoutOption {
  /**
   * The longest silence of an upload before it is answered 408 and the connection closed.
   * Milliseconds, from 1 to 2 147 483 647, default 10 000.
   */
  bodyTimeoutMs?: number | undefined;
}

/** Bounds of reading a body. */
export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** The longest silence of an upload. */
  readonly bodyTimeoutMs: number;
}

/** The bounds of an adapter. Throws `ConfigurationError` for an unknown option or one out of bounds. */
export function createBodyLimits(
  { maxBodyBytes }: WebhookReceiver,
  options: BodyTimeoutOption,
): BodyLimits {
  refuseUnknownOptions(options, ["bodyTimeoutMs"]);
  const rule = { fallback: 10_000, min: 1, max: MAX_TIMER_MS };
  return {
    maxBodyBytes,
    bodyTimeoutMs: integerOption("bodyTimeoutMs", options.bodyTimeoutMs, rule),
  };
}
