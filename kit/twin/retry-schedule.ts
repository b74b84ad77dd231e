import { RETRIES } from "../../src/common/gateway-facts.js";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import type { Random } from "../random.js";
import { checkOption, numberOption } from "../option-checks.js";

/**
 * When a delivery is sent again. The document names neither factor nor jitter.
 *
 * @experimental
 */
export interface RetryOptions {
  /** How many attempts there are at most. From 1 to 1 000, default 10. */
  readonly attempts?: number | undefined;
  /** The gap before the second attempt. Milliseconds, from 0 to `maxDelayMs`, default 10 000. */
  readonly firstDelayMs?: number | undefined;
  /** The longest gap, before jitter. Milliseconds, from 0 to 604 800 000, default 14 400 000 (4 h). */
  readonly maxDelayMs?: number | undefined;
  /**
   * Each gap is the one before it times this factor. From 1 to 1 000, default 2.48: the ninth and last gap
   * is just under 4 h, and all nine together take 6 h 40 min.
   */
  readonly factor?: number | undefined;
  /**
   * How far a gap may differ from the schedule in both directions, as a share of the gap. From 0 to 1,
   * default 0.
   */
  readonly jitter?: number | undefined;
}

/** When a delivery is sent again, with all options set. */
export type RetrySchedule = Readonly<Record<keyof RetryOptions, number>>;

const DELAY = { min: 0, max: 604_800_000 };

/**
 * The schedule with its defaults.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 */
export function checkRetrySchedule(given: RetryOptions = {}): RetrySchedule {
  const names = ["attempts", "firstDelayMs", "maxDelayMs", "factor", "jitter"];
  const own = ownOptions("retry", given, names);
  const first = { fallback: RETRIES.firstDelayMs, ...DELAY };
  const longest = { fallback: RETRIES.maxDelayMs, ...DELAY };
  const attempts = { fallback: RETRIES.attempts, min: 1, max: 1000 };
  const schedule = {
    attempts: integerOption("attempts", own.attempts, attempts),
    firstDelayMs: integerOption("firstDelayMs", own.firstDelayMs, first),
    maxDelayMs: integerOption("maxDelayMs", own.maxDelayMs, longest),
    factor: numberOption("factor", own.factor, { fallback: RETRIES.factor, min: 1, max: 1000 }),
    jitter: numberOption("jitter", own.jitter, { fallback: 0, min: 0, max: 1 }),
  };
  const isOrdered = schedule.firstDelayMs <= schedule.maxDelayMs;
  checkOption(isOrdered, "firstDelayMs must be at most maxDelayMs");
  return schedule;
}

/** The gap after attempt number `attempt`, in whole milliseconds. */
export function gapMs(
  { firstDelayMs, maxDelayMs, factor, jitter }: RetrySchedule,
  attempt: number,
  random: Random,
): number {
  const planned = Math.min(firstDelayMs * factor ** (attempt - 1), maxDelayMs);
  // Drawn without jitter too, so that a seed gives the same faults with any schedule.
  const shift = 2 * random.fraction() - 1;
  return Math.round(planned * (1 + jitter * shift));
}
