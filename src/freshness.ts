/** The moment of an X-Webhook-Timestamp, which is Unix time in seconds, in milliseconds. */
export function millisecondsOf(timestamp: string): number {
  return Number(timestamp) * 1000;
}

/**
 * Whether a timestamp lies within the tolerance of `nowMs`, both directions and both ends included.
 * A clock that gives no number makes nothing fresh.
 */
export function isFresh(timestampMs: number, nowMs: number, toleranceMs: number): boolean {
  return Math.abs(nowMs - timestampMs) <= toleranceMs;
}
