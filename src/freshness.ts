/** The moment of an X-Webhook-Timestamp, which is Unix time in seconds. */
export function dateOfTimestamp(timestamp: string): Date {
  return new Date(Number(timestamp) * 1000);
}

/**
 * Whether a timestamp lies within the tolerance of `nowMs`, both directions and both ends included.
 * A clock that gives no number makes nothing fresh.
 */
export function isFresh(timestamp: string, nowMs: number, toleranceMs: number): boolean {
  return Math.abs(nowMs - Number(timestamp) * 1000) <= toleranceMs;
}
