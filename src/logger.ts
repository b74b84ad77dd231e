import type { Outcome } from "./outcome.js";

/**
 * Where the receiver writes. A line holds the outcome and what to do about it; the second argument is
 * the `OutcomeReport` or a part of it. Neither holds a part of the body, a signature, a secret or
 * another header. What a method returns, throws or rejects with is ignored.
 */
export interface Logger {
  warn(message: string, details?: unknown): unknown;
  error(message: string, details?: unknown): unknown;
}

/** How long the lines of one outcome are held back after one was written. */
const THINNING_MS = 60_000;

/**
 * Thins the lines that anybody can cause: says whether one may be written now, and how many of its
 * outcome were held back since the last.
 */
export function createThinning(now: () => number): (outcome: Outcome) => number | undefined {
  const last = new Map<Outcome, { at: number; heldBack: number }>();
  return (outcome) => {
    const known = last.get(outcome);
    if (known !== undefined && now() - known.at < THINNING_MS) {
      known.heldBack += 1;
      return undefined;
    }
    last.set(outcome, { at: now(), heldBack: 0 });
    return known?.heldBack ?? 0;
  };
}
