import { RETRIES } from "../common/gateway-facts.js";
import { gatewayTimeMs } from "./gateway-time.js";

/** How late an authentic delivery is, and which attempt it probably is. */
export interface DeliveryLag {
  /** The signed timestamp minus the time of the record, in milliseconds. */
  readonly lagMs: number;
  /** From 1 to 10. Undefined for an Online Data event, which may have occurred long before it was recorded. */
  readonly attempt: number | undefined;
}

const { attempts: LAST_ATTEMPT, firstDelayMs, factor } = RETRIES;

/** When each attempt begins after the first, in seconds. */
const ATTEMPTS_AT = Array.from(
  { length: LAST_ATTEMPT },
  (_, gaps) => (firstDelayMs * (factor ** gaps - 1)) / (factor - 1) / 1000,
);
/** The attempts as text, from 1 to 10, and `unknown`. */
export const ATTEMPT_LABELS: readonly string[] = [
  ...ATTEMPTS_AT.map((_, gaps) => String(gaps + 1)),
  "unknown",
];
/** The last second of each attempt but the tenth: the geometric mean of its time and the next one's. */
const ATTEMPT_ENDS = ATTEMPTS_AT.slice(1).map((next, at) =>
  Math.sqrt(Math.max(ATTEMPTS_AT[at] ?? 0, 2) * next),
);

/** The record may have been written a moment after the request was built, by another clock. */
const MOST_AHEAD_MS = 5_000;
/** A date that is further off is not the time of this delivery: no schedule takes so long. */
const MOST_BEHIND_MS = 7 * 86_400_000;
const HOUR_MS = 3_600_000;
const NEAR_MS = 45_000;

/**
 * The lag of an authentic delivery; undefined if its dates do not tell. `timestampMs` is the signed
 * timestamp, `record` an alarm or event of any shape.
 */
export function lagOf(record: unknown, timestampMs: number): DeliveryLag | undefined {
  try {
    return readLag(record, timestampMs);
  } catch {
    // The text is no date, or a handler has put a getter that throws into its record.
    return undefined;
  }
}

function readLag(record: unknown, timestampMs: number): DeliveryLag | undefined {
  const { created_at, occurred_at } = Object(record) as Record<string, unknown>;
  const isAlarm = created_at !== undefined;
  const text = isAlarm ? created_at : occurred_at;
  if (typeof text !== "string") return undefined;
  const lagMs = timestampMs - gatewayTimeMs(text);
  // Also false for NaN, if the text is no date.
  if (!(lagMs >= -MOST_AHEAD_MS && lagMs <= MOST_BEHIND_MS)) return undefined;
  if (isOffByHours(lagMs) && !hasZone(text)) return undefined;
  return { lagMs, attempt: isAlarm ? attemptAfter(lagMs) : undefined };
}

/** Whether the gateway probably does not send this delivery again. False if its dates do not tell. */
export function isLastAttempt(record: unknown, timestampMs: number): boolean {
  return lagOf(record, timestampMs)?.attempt === LAST_ATTEMPT;
}

function attemptAfter(lagMs: number): number {
  const later = ATTEMPT_ENDS.findIndex((end) => lagMs < end * 1000);
  return later === -1 ? LAST_ATTEMPT : later + 1;
}

function hasZone(text: string): boolean {
  return /(?:[Zz]|[+-]\d{2}:?\d{2})$/.test(text.slice(10));
}

/** A date without a zone may be a local time, which is whole hours off and not late. */
function isOffByHours(lagMs: number): boolean {
  if (lagMs < HOUR_MS - NEAR_MS) return false;
  const beyond = lagMs % HOUR_MS;
  return beyond <= NEAR_MS || beyond >= HOUR_MS - NEAR_MS;
}
