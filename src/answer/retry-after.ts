/** The shortest delay, in milliseconds: `Retry-After: 0` would invite a busy loop. */
const MIN_RETRY_AFTER_MS = 1_000;
/** The longest delay, in milliseconds: one day, well within the 36 hours of the gateway's attempts. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/** The nearest delay to `ms` from 1 second to 1 day; undefined if `ms` is not a finite number. */
export function clampRetryAfterMs(ms: number | undefined): number | undefined {
  if (ms === undefined || !Number.isFinite(ms)) return undefined;
  return Math.min(Math.max(ms, MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS);
}

/** The value of `Retry-After`: whole seconds (RFC 9110, section 10.2.3), rounded up. */
export function retryAfterSeconds(ms: number, fallbackMs: number): string {
  return String(Math.ceil((clampRetryAfterMs(ms) ?? fallbackMs) / 1000));
}

const MIN_SPREAD_MS = 10_000;
const MAX_SPREAD_MS = 40_000;

/**
 * A delay from 10 to 40 s that depends on the delivery id (FNV-1a). Deliveries that are refused at the
 * same time would otherwise all come again at the same time.
 */
export function spreadRetryAfterMs(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) {
    hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  }
  return MIN_SPREAD_MS + ((hash >>> 0) % (MAX_SPREAD_MS - MIN_SPREAD_MS + 1));
}
