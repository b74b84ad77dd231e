import { WEBHOOKS_SINCE_MS } from "../../src/common/gateway-facts.js";
import type { Random } from "../random.js";
import type { DateFormat } from "./sample-options.js";

const SECONDS_IN_90_DAYS = 90 * 86_400;

/** A time within 90 days after that day, in whole seconds. */
export function sampleMoment(random: Random): Date {
  return new Date(WEBHOOKS_SINCE_MS + 1000 * random.below(SECONDS_IN_90_DAYS));
}

/** The time `seconds` before another time. */
export function secondsBefore(time: Date, seconds: number): Date {
  return new Date(time.getTime() - 1000 * seconds);
}

/** A time in the gateway's format, without fractions of a second. */
export function writeTime(time: Date, format: DateFormat): string {
  const text = time.toISOString().slice(0, "2026-07-08T10:00:00".length);
  return format === "legacy" ? text.replace("T", " ") : `${text}Z`;
}

/** A time in ISO 8601 with an offset in hours, such as `2026-07-08T12:00:00+02:00`. */
export function writeTimeAt(time: Date, offsetHours: number): string {
  const local = secondsBefore(time, -3600 * offsetHours);
  return `${writeTime(local, "standardized").slice(0, -1)}+${String(offsetHours).padStart(2, "0")}:00`;
}
