import { InvalidValueError } from "../common/errors.js";

const LEGACY_OR_ISO =
  /^(\d{4})-(\d{2})-(\d{2})[ Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|([+-])(\d{2}):?(\d{2}))?$/;

/**
 * Reads both date formats of the gateway (GATEWAY.md, "Versioning", rules 2 and 3): the legacy
 * `YYYY-MM-DD HH:MM:SS`, which has no zone and is read as UTC, and ISO 8601 / RFC 3339 with `Z` or an
 * offset. Digits beyond milliseconds are dropped.
 *
 * ```ts
 * parseGatewayTime(alarm.created_at).toISOString(); // "2026-07-08T10:00:00.000Z"
 * ```
 *
 * @throws InvalidValueError, a `RangeError`, if the text has neither format or is no real time (30
 * February, hour 24). The message does not repeat the text.
 */
export function parseGatewayTime(text: string): Date {
  const match = typeof text === "string" ? LEGACY_OR_ISO.exec(text) : null;
  if (match === null)
    throw new InvalidValueError(
      "invalid_gateway_time",
      "not a gateway time: YYYY-MM-DD HH:MM:SS or ISO 8601",
    );
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number);
  const ms = Number((match[7] ?? "").slice(0, 3).padEnd(3, "0"));
  const offsetHours = Number(match[10] ?? 0);
  const offsetMinutes = Number(match[11] ?? 0);
  // Not Date.UTC(…), which reads the years 0 to 99 as 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second, ms);
  // Date turns 30 February into 1 or 2 March, so the result is compared with the text.
  const real =
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    hour <= 23 &&
    minute <= 59 &&
    second <= 59 &&
    offsetHours <= 23 &&
    offsetMinutes <= 59;
  if (!real)
    throw new InvalidValueError("invalid_gateway_time", "not a gateway time: no such date or time");
  const offsetMs = (offsetHours * 60 + offsetMinutes) * 60_000;
  return new Date(date.getTime() - (match[9] === "-" ? -offsetMs : offsetMs));
}

/**
 * The same time in Unix milliseconds, and NaN instead of an error. Metrics read the date of each alarm, so
 * the usual forms take a short way: with `parseGatewayTime` it cost 1 µs, a sixth of a delivery.
 */
export function gatewayTimeMs(text: string): number {
  const ms = plainTimeMs(text);
  if (!Number.isNaN(ms)) return ms;
  try {
    return parseGatewayTime(text).getTime();
  } catch {
    return Number.NaN;
  }
}

/** `YYYY-MM-DD HH:MM:SS`, with `T` or with `Z` or `+00:00` at the end; NaN for other texts and odd days. */
function plainTimeMs(text: string): number {
  const { length } = text;
  const isUtc =
    length === 19 ||
    (length === 20 ? text.endsWith("Z") : length === 25 && text.endsWith("+00:00"));
  const between = text.charCodeAt(10);
  const isPlain =
    isUtc &&
    (between === 32 || between === 84) &&
    text.charCodeAt(4) === 45 &&
    text.charCodeAt(7) === 45 &&
    text.charCodeAt(13) === 58 &&
    text.charCodeAt(16) === 58;
  if (!isPlain) return Number.NaN;
  const century = digits(text, 0);
  const month = digits(text, 5);
  const day = digits(text, 8);
  const hour = digits(text, 11);
  const minute = digits(text, 14);
  const second = digits(text, 17);
  // Days that not every month has are left to the other way. Date.UTC reads a year below 100 as another one.
  const lastDay = month === 2 ? 28 : 30;
  if (!(century >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= lastDay)) return Number.NaN;
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return Number.NaN;
  return Date.UTC(century * 100 + digits(text, 2), month - 1, day, hour, minute, second);
}

/** The number of two digits; NaN if they are none. */
function digits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}
