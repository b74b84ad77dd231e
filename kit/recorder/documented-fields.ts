import {
  ALARM_EVENT_TYPES,
  ALARM_SEVERITIES,
  ALARM_SOURCES,
  ALARM_STATUSES,
  EVENT_SEVERITIES,
} from "../../src/records/documented-values.js";
import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";

/**
 * What a documented field keeps: a date in a format of the gateway, one of the documented values, the JSON
 * inside a text (which is redacted too), or only its shape.
 */
export type FieldRule = "date" | "payload" | "shape" | ReadonlySet<string>;

/** The documented fields of an alarm (the gateway's document, section "Alarm"). */
const ALARM: Readonly<Record<string, FieldRule>> = {
  id: "shape",
  text: "shape",
  account_id: "shape",
  severity: ALARM_SEVERITIES,
  status: ALARM_STATUSES,
  source: ALARM_SOURCES,
  event_type: ALARM_EVENT_TYPES,
  category_id: new Set(["1", "2", "3", "4", "5", "6", "7"]),
  original_event_id: "shape",
  payload: "payload",
  date: "date",
  checked_at: "date",
  created_at: "date",
  updated_at: "date",
};

/** The documented fields of an event (the gateway's document, section "Online Data event"). */
const EVENT: Readonly<Record<string, FieldRule>> = {
  type: new Set<string>(ONLINE_DATA_EVENT_TYPES),
  severity: EVENT_SEVERITIES,
  account_id: "shape",
  client_id: "shape",
  site_id: "shape",
  site_name: "shape",
  site_base_url: "shape",
  occurred_at: "date",
};

/** The fields of the two documented bodies, `{ alarm }` and `{ event }`. */
export const DOCUMENTED_FIELDS = {
  alarm: ALARM,
  event: EVENT,
};

/** The documented value of `alarm.event_type` or `event.type`; undefined for any other value. */
export function documentedEvent(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  return ALARM_EVENT_TYPES.has(value) || new Set<string>(ONLINE_DATA_EVENT_TYPES).has(value)
    ? value
    : undefined;
}
