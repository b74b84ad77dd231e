import { invalidOption } from "../common/errors.js";
import type { IntegerRule } from "../common/option-checks.js";

/** The name of the queue if none is given. */
const DEFAULT_QUEUE_NAME = "gateway-deliveries";

/** How many crashes of its worker a job survives. */
export const MAX_CRASHES = 14;

/** How long a worker waits for the queue to take the result of a job. Milliseconds. */
export const SETTLE_TIMEOUT_MS = 10_000;

/** When a failed job runs again. */
export interface RetryOptions {
  /**
   * How often the engine runs a job again after its first run has failed. After that the job is dead. From 0 to
   * 1 000, default 14. With the default delay, 14 retries take 45 hours, which is longer than the gateway itself tries.
   */
  retryLimit?: number | undefined;
  /**
   * The delay before the first retry, in milliseconds. It doubles with each further retry. From 1 000
   * to 86 400 000, default 10 000.
   */
  retryDelayMs?: number | undefined;
}

/** Default and bounds of each retry option. */
export const RETRY_OPTIONS = {
  retryLimit: { fallback: 14, min: 0, max: 1_000 },
  retryDelayMs: { fallback: 10_000, min: 1_000, max: 86_400_000 },
} as const satisfies Record<keyof RetryOptions, IntegerRule>;

/** The option `queueName`, or its default. Throws `ConfigurationError` unless it is a valid name. */
export function queueNameOption(name: unknown = DEFAULT_QUEUE_NAME): string {
  if (typeof name === "string" && /^[\w.-]{1,128}$/.test(name)) return name;
  throw invalidOption(
    "queueName must be a queue's name: 1 to 128 letters, digits, underscores, dots or hyphens",
  );
}
