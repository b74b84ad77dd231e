import { ALARM, EVENT, EVENT_TYPES, type Fields } from "../../src/common/gateway-facts.js";

/**
 * What a documented field keeps: a date in a format of the gateway, one of the documented values, the JSON
 * inside a text (which is redacted too), or only its shape.
 */
export type FieldRule = "date" | "payload" | "shape" | ReadonlySet<string>;

/** The rule of each field. A kept value may also be a number as text. */
function rulesOf(fields: Fields): Readonly<Record<string, FieldRule>> {
  const rules = Object.entries(fields).map(([name, { kind, values }]): [string, FieldRule] => {
    if (values !== undefined) return [name, new Set(values.map(String))];
    return [name, kind === "time" ? "date" : kind === "json" ? "payload" : "shape"];
  });
  return Object.fromEntries(rules);
}

/** The fields of the two documented bodies, `{ alarm }` and `{ event }`. */
export const DOCUMENTED_FIELDS = {
  alarm: rulesOf(ALARM),
  event: rulesOf(EVENT),
};

const ALARM_EVENTS = new Set<string>(ALARM.event_type.values);

/** The documented value of `alarm.event_type` or `event.type`; undefined for any other value. */
export function documentedEvent(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  return ALARM_EVENTS.has(value) || Object.hasOwn(EVENT_TYPES, value) ? value : undefined;
}
