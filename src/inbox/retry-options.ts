import type { IntegerRule } from "../common/option-checks.js";

/** How the engine tries a job again. Written into each job, so that it holds wherever it is worked. */
export interface RetryOptions {
  /**
   * How often a job is tried again after its first run failed, before it is dead-lettered. From 0 to
   * 1 000, default 14: with the default delay that takes 45 hours, longer than the gateway itself
   * would try (GATEWAY.md, "Events", rule 3).
   */
  retryLimit?: number | undefined;
  /**
   * The delay before the first retry; each further one doubles it. Milliseconds, from 1 000 to
   * 86 400 000, default 10 000.
   */
  retryDelayMs?: number | undefined;
}

/** The options of the table: default and bounds. */
export const RETRY_OPTIONS = {
  retryLimit: { fallback: 14, min: 0, max: 1_000 },
  retryDelayMs: { fallback: 10_000, min: 1_000, max: 86_400_000 },
} as const satisfies Record<keyof RetryOptions, IntegerRule>;

/** The name under which a queue is made and worked where none is given. */
export const DEFAULT_QUEUE = "gateway-deliveries";
