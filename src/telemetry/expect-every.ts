import { isObject } from "../common/option-checks.js";
import { invalidOption } from "../common/errors.js";
import { WEBHOOK_TYPES } from "../common/gateway-facts.js";
import { isWebhookType, type WebhookType } from "../delivery/headers.js";

/** A duration: milliseconds, or a number with its unit, such as `90s`, `30m`, `6h` or `1d`. */
export type Duration = number | `${number}${"s" | "m" | "h" | "d"}`;

/** How often a delivery of each type is expected, in milliseconds. */
export type ExpectedEvery = ReadonlyMap<WebhookType, number>;

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const MIN_MS = 1_000;
/** A silence counts from the start of the process, so deploys would hide a longer one. */
const MAX_MS = 86_400_000;

/** Checks the option `expectEvery`. Throws `ConfigurationError`, whose message says what to change. */
export function checkExpectEvery(given: unknown): ExpectedEvery {
  if (given === undefined) return new Map();
  if (!isObject(given)) {
    throw invalidOption(`expectEvery must be an object, such as { new_alarm: "6h" }`);
  }
  const expected = new Map<WebhookType, number>();
  for (const [type, every] of Object.entries(given)) {
    if (!isWebhookType(type)) {
      throw invalidOption(
        `expectEvery.${type} is no webhook type: use ${WEBHOOK_TYPES.join(", ")}`,
      );
    }
    if (every !== undefined) expected.set(type, durationMs(`expectEvery.${type}`, every));
  }
  return expected;
}

function durationMs(name: string, value: unknown): number {
  const ms = typeof value === "number" ? value : msOf(value);
  if (ms >= MIN_MS && ms <= MAX_MS) return ms;
  throw invalidOption(
    `${name} must be a duration from 1 second to 1 day: "90s", "30m", "6h", "1d" or milliseconds. Each start of the process begins a silence anew, so deploys would hide a longer one: run webhooks check by the clock instead`,
  );
}

/** NaN if it is no duration. */
function msOf(value: unknown): number {
  if (typeof value !== "string") return Number.NaN;
  const [, digits = "", unit = ""] = /^([0-9]{1,9}(?:\.[0-9]{1,3})?)([smhd])$/.exec(value) ?? [];
  return digits === "" ? Number.NaN : Number(digits) * (UNIT_MS[unit] ?? Number.NaN);
}
