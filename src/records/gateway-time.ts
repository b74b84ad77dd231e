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
