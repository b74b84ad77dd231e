import { JobFailure } from "../job-failure.js";
import { RETRY_OPTIONS } from "../queue-options.js";

/** The name of the backoff strategy. It is stored in every job. */
const BACKOFF_TYPE = "gateway-delivery";

/** The longest delay. A timer of 2^31 milliseconds or more would fire at once. */
const MAX_DELAY_MS = 2_147_483_647;

/** The options that BullMQ stores in each job: when it runs again, and how long it is kept. */
export function jobOptionsOf(retryLimit: number, retryDelayMs: number, retentionMs: number) {
  return {
    attempts: retryLimit + 1,
    backoff: { type: BACKOFF_TYPE, delay: retryDelayMs },
    removeOnComplete: { age: Math.ceil(retentionMs / 1000) },
    removeOnFail: false,
    // Overrides the `defaultJobOptions` of the queue: their deduplication would drop a delivery in favour
    // of another one.
    deduplication: undefined,
  } as const;
}

/**
 * The backoff strategy of the worker: how long a failed job waits, in milliseconds. That is as long as its
 * `RetryLater` says, otherwise twice as long as the last time. BullMQ calls it while it writes the
 * failure, so the failure counts as an attempt and its delay is part of the same atomic write.
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
