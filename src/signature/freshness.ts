/**
 * Whether a timestamp lies within the tolerance of `nowMs`, both directions and both ends included.
 * A clock that gives no number makes nothing fresh.
 */
export function isFresh(timestampMs: number, nowMs: number, toleranceMs: number): boolean {
  return Math.abs(nowMs - timestampMs) <= toleranceMs;
}

/** By how much a timestamp that is not fresh misses the tolerance, and in which direction. */
export function staleness(timestampMs: number, nowMs: number, toleranceMs: number): string {
  const offMs = nowMs - timestampMs;
  if (!Number.isFinite(offMs)) return "The option now gave no number.";
  const beyond = `${seconds(Math.abs(offMs) - toleranceMs)} s`;
  const tolerance = `timestampToleranceMs (${String(toleranceMs)}) allows`;
  return offMs > 0
    ? `Signed ${seconds(offMs)} s ago: ${beyond} older than ${tolerance}.`
    : `Signed ${seconds(-offMs)} s ahead of this clock: ${beyond} more than ${tolerance}.`;
}

/** Whole seconds, rounded up: no delivery is 0 s too old. */
function seconds(ms: number): string {
  return String(Math.ceil(ms / 1000));
}
