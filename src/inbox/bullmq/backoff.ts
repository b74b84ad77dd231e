import { JobFailure } from "../job-failure.js";
import { RETRY_OPTIONS } from "../retry-options.js";

/** The name of the strategy, which stands in every job. */
export const BACKOFF_TYPE = "gateway-delivery";

/** The longest delay, whatever the power: 2^31 milliseconds would already be lost on a timer. */
const MAX_DELAY_MS = 2_147_483_647;

/**
 * How long a failed job waits: as long as `RetryLater` named, or twice as long as the time before. BullMQ
 * calls it inside its own write, so that the failure counts as an attempt and is one atomic write.
 */
export function backoffDelay(
  attemptsMade: number,
  _type: string | undefined,
  error: unknown,
  job: { readonly opts?: { readonly backoff?: unknown } } | undefined,
): number {
  if (error instanceof JobFailure && error.retryAfterMs !== undefined) {
    return Math.round(error.retryAfterMs);
  }
  const { delay } = (job?.opts?.backoff ?? {}) as { readonly delay?: unknown };
  const first =
    typeof delay === "number" && delay >= 0 ? delay : RETRY_OPTIONS.retryDelayMs.fallback;
  return Math.min(Math.round(first * 2 ** (attemptsMade - 1)), MAX_DELAY_MS);
}
