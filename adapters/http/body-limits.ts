import { ConfigurationError, invalidOption } from "../../src/common/errors.js";
import { MAX_TIMER_MS } from "../../src/common/timers.js";
import { integerOption, missingMethod, ownOptions } from "../../src/common/option-checks.js";
import { INTEGER_OPTIONS } from "../../src/options/options.js";
import type { MountableReceiver } from "../../src/options/webhook-receiver.js";

/** The options that every adapter takes. */
export interface BodyOptions {
  /**
   * The longest silence of an upload. After it, the answer is 408 and the connection is closed.
   * Milliseconds, from 1 to 2 147 483 647, default 10 000.
   */
  bodyTimeoutMs?: number | undefined;
  /**
   * The longest time for a whole upload, even a steady one. After it, the answer is 408 and the
   * connection is closed. Milliseconds, from 1 to 2 147 483 647, default 60 000, or `bodyTimeoutMs` if
   * that is longer.
   */
  uploadTimeoutMs?: number | undefined;
}

/** The limits within which an adapter reads a body. */
export interface BodyLimits {
  /** The largest body, from the receiver. Bytes. */
  readonly maxBodyBytes: number;
  /** The longest silence of an upload. Milliseconds. */
  readonly bodyTimeoutMs: number;
  /** The longest time for a whole upload. Milliseconds. */
  readonly uploadTimeoutMs: number;
}

/**
 * How long the rest of a refused upload is read and dropped. Closing a socket with unread data resets it,
 * and the reset can destroy the answer before the sender has read it.
 */
export const LINGER_MS = 2_000;

/**
 * The limits of an adapter: `maxBodyBytes` of the receiver, the rest from `options` and their defaults.
 * Call it once, when the receiver is mounted. `adapter` is the name of the adapter in error messages.
 *
 * @throws ConfigurationError if `receiver` is not a receiver, for an unknown option and for a value out
 * of bounds.
 */
export function bodyLimits(
  adapter: string,
  receiver: MountableReceiver,
  options: BodyOptions = {},
): BodyLimits {
  checkReceiver(adapter, receiver);
  const own = ownOptions(adapter, options, ["bodyTimeoutMs", "uploadTimeoutMs"]);
  const silence = { fallback: 10_000, min: 1, max: MAX_TIMER_MS };
  const bodyTimeoutMs = integerOption("bodyTimeoutMs", own.bodyTimeoutMs, silence);
  const upload = { ...silence, fallback: Math.max(60_000, bodyTimeoutMs) };
  const uploadTimeoutMs = integerOption("uploadTimeoutMs", own.uploadTimeoutMs, upload);
  const size = INTEGER_OPTIONS.maxBodyBytes;
  const maxBodyBytes = integerOption("maxBodyBytes", receiver.maxBodyBytes, size);
  return { maxBodyBytes, bodyTimeoutMs, uploadTimeoutMs };
}

/** Throws `ConfigurationError` if `receiver` is none. `adapter`: its name in the message. */
export function checkReceiver(adapter: string, receiver: unknown): void {
  // By structure: a receiver may be wrapped, or come from another copy of the package.
  if (missingMethod(receiver, ["receive"]) === undefined) return;
  throw new ConfigurationError(
    "invalid_receiver",
    `${adapter} takes the receiver that createWebhookReceiver(options) returns`,
  );
}

/** The error of an adapter's handler that was called with something else than a request of its framework. */
export function wrongCall(adapter: string, expected: string): ConfigurationError {
  return invalidOption(
    `the handler of ${adapter} must be called with ${expected}: pass on what the framework gives, or use the adapter of that framework`,
  );
}
