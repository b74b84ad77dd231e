import { GatewayWebhookError } from "../common/errors.js";

const LEGACY_OR_ISO = /^\d{4}-\d\d-\d\d[ Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:?\d\d)?$/;
const FRACTION_AND_ZONE = /^(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):?(\d\d))?$/;
/** The calendar repeats after 400 years. */
const MS_OF_400_YEARS = 146_097 * 86_400_000;

/**
 * Reads both date formats of the gateway: the legacy `YYYY-MM-DD HH:MM:SS`, which has no zone and is read as UTC, and
 * ISO 8601 / RFC 3339 with `Z` or an offset. Digits beyond milliseconds are dropped.
 *
 * ```ts
 * parseGatewayTime(alarm.created_at).toISOString(); // "2026-07-08T10:00:00.000Z"
 * ```
 *
 * @throws GatewayWebhookError (`invalid_gateway_time`) if the text has neither format or is no real time (30
 * February, hour 24). The message does not repeat the text.
 */
export function parseGatewayTime(text: string): Date {
  const ms = gatewayTimeMs(text);
  if (!Number.isNaN(ms)) return new Date(ms);
  const isForm = typeof text === "string" && LEGACY_OR_ISO.test(text);
  throw new GatewayWebhookError(
    "invalid_gateway_time",
    `not a gateway time: ${isForm ? "no such date or time" : "YYYY-MM-DD HH:MM:SS or ISO 8601"}`,
  );
}

/** The same time in Unix milliseconds, and NaN instead of an error. Metrics read the date of each alarm. */
export function gatewayTimeMs(text: string): number {
  if (typeof text !== "string" || !LEGACY_OR_ISO.test(text)) return Number.NaN;
  const year = digits(text, 0) * 100 + digits(text, 2);
  const month = digits(text, 5);
  const day = digits(text, 8);
  const hour = digits(text, 11);
  const minute = digits(text, 14);
  const second = digits(text, 17);
  if (month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) return Number.NaN;
  // Four centuries later, because Date.UTC reads the years 0 to 99 as 1900 to 1999.
  const ms = Date.UTC(year + 400, month - 1, day, hour, minute, second) - MS_OF_400_YEARS;
  // Date turns 30 February into 1 or 2 March, so the result is compared with the text.
  if (new Date(ms).getUTCDate() !== day) return Number.NaN;
  // Behind the seconds there is nothing, or a Z, in all but a few times.
  return text.length <= 20 ? ms : ms + restMs(text.slice(19));
}

/** What a fraction and an offset add; NaN if there is no such offset. */
function restMs(text: string): number {
  const [, fraction = "", sign, hours, minutes] = FRACTION_AND_ZONE.exec(text) ?? [];
  const offsetHours = Number(hours ?? 0);
  const offsetMinutes = Number(minutes ?? 0);
  if (offsetHours > 23 || offsetMinutes > 59) return Number.NaN;
  const offsetMs = (offsetHours * 60 + offsetMinutes) * 60_000;
  return Number(fraction.slice(0, 3).padEnd(3, "0")) + (sign === "-" ? offsetMs : -offsetMs);
}

/** The number that two digits write. */
function digits(text: string, at: number): number {
  return (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
}
