import { ConfigurationError } from "../../src/common/errors.js";
import { MAX_TIMER_MS } from "../../src/common/timers.js";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import type { WebhookReceiver } from "../../src/receiver.js";

/** The options that every adapter has. */
export interface BodyOptions {
  /**
   * The longest silence of an upload before it is answered 408 and the connection closed.
   * Milliseconds, from 1 to 2 147 483 647, default 10 000.
   */
  bodyTimeoutMs?: number | undefined;
  /**
   * The longest that a whole upload may take, however steadily it comes; then it is answered 408 and the
   * connection closed. Milliseconds, from 1 to 2 147 483 647, default 60 000, or `bodyTimeoutMs` where
   * that is longer.
   */
  uploadTimeoutMs?: number | undefined;
}

/** Bounds of reading a body. */
export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** The longest silence of an upload. */
  readonly bodyTimeoutMs: number;
  /** The longest that a whole upload may take. */
  readonly uploadTimeoutMs: number;
}

/**
 * The bounds of an adapter. `maker` names it in a message. Throws `ConfigurationError` where it is mounted
 * with something else than a receiver, for an unknown option and for one out of bounds.
 */
export function createBodyLimits(
  maker: string,
  receiver: WebhookReceiver,
  options: BodyOptions,
): BodyLimits {
  if (!isReceiver(receiver)) {
    throw new ConfigurationError(
      "invalid_receiver",
      `${maker} takes the receiver that createWebhookReceiver(options) returns`,
    );
  }
  const own = ownOptions(maker, options, ["bodyTimeoutMs", "uploadTimeoutMs"]);
  const bounds = { min: 1, max: MAX_TIMER_MS };
  const bodyTimeoutMs = integerOption("bodyTimeoutMs", own.bodyTimeoutMs, {
    fallback: 10_000,
    ...bounds,
  });
  return {
    maxBodyBytes: receiver.maxBodyBytes,
    bodyTimeoutMs,
    uploadTimeoutMs: integerOption("uploadTimeoutMs", own.uploadTimeoutMs, {
      fallback: Math.max(60_000, bodyTimeoutMs),
      ...bounds,
    }),
  };
}

/** By structure: a receiver may be wrapped, or come from another copy of the package. */
function isReceiver(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { receive, drain, maxBodyBytes } = value as Partial<WebhookReceiver>;
  return (
    typeof receive === "function" && typeof drain === "function" && typeof maxBodyBytes === "number"
  );
}
