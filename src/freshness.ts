/**
 * Whether a timestamp lies within the tolerance of `nowMs`, both directions and both ends included.
 * A clock that gives no number makes nothing fresh.
 */
export function isFresh(timestampMs: number, nowMs: number, toleranceMs: number): boolean {
  return Math.abs(nowMs - timestampMs) <= toleranceMs;
}
