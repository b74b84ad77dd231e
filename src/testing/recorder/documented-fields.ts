import type {
  AlarmEventType,
  AlarmSeverity,
  AlarmSource,
  AlarmStatus,
} from "../../records/alarm.js";
import {
  ONLINE_DATA_EVENT_TYPES,
  type OnlineDataSeverity,
} from "../../records/online-data-event.js";

/**
 * What a documented field keeps: a date in a format of the gateway, one of the documented values, the JSON
 * inside a text (which is redacted too), or only its shape.
 */
export type FieldRule = "date" | "payload" | "shape" | ReadonlySet<string>;

/** Records and not lists, so that the compiler finds a missing value. */
const SEVERITIES: Record<AlarmSeverity, true> = { Low: true, Medium: true, High: true, Info: true };
const STATUSES: Record<AlarmStatus, true> = { NEW: true, CLOSED: true };
const SOURCES: Record<AlarmSource, true> = {
  BreachDb: true,
  BureauIdentity: true,
  BureauCreditA: true,
  BureauCreditAConnect: true,
  BureauCreditAEnquiry: true,
  BureauCreditB: true,
};
const EVENT_TYPES: Record<AlarmEventType, true> = {
  email_hacked: true,
  phone_hacked: true,
  ssn_hacked: true,
  iban_hacked: true,
  credit_card_hacked: true,
  passport_hacked: true,
  drivers_license_hacked: true,
  domain_hacked: true,
  BureauIdentity: true,
  BureauCreditA: true,
  BureauCreditAConnect: true,
  BureauCreditAEnquiry: true,
  BureauCreditB: true,
};
const EVENT_SEVERITIES: Record<OnlineDataSeverity, true> = {
  INFO: true,
  SUCCESS: true,
  WARNING: true,
};

const namesOf = (values: Record<string, true>): ReadonlySet<string> => new Set(Object.keys(values));

/** The documented fields of an alarm (GATEWAY.md, "Alarm"). */
const ALARM: Readonly<Record<string, FieldRule>> = {
  id: "shape",
  text: "shape",
  account_id: "shape",
  severity: namesOf(SEVERITIES),
  status: namesOf(STATUSES),
  source: namesOf(SOURCES),
  event_type: namesOf(EVENT_TYPES),
  category_id: new Set(["1", "2", "3", "4", "5", "6", "7"]),
  original_event_id: "shape",
  payload: "payload",
  date: "date",
  checked_at: "date",
  created_at: "date",
  updated_at: "date",
};

/** The documented fields of an event (GATEWAY.md, "Online Data event"). */
const EVENT: Readonly<Record<string, FieldRule>> = {
  type: new Set<string>(ONLINE_DATA_EVENT_TYPES),
  severity: namesOf(EVENT_SEVERITIES),
  account_id: "shape",
  client_id: "shape",
  site_id: "shape",
  site_name: "shape",
  site_base_url: "shape",
  occurred_at: "date",
};

/** The fields of the two documented bodies, `{ alarm }` and `{ event }`. */
export const DOCUMENTED_FIELDS: Readonly<Record<string, Readonly<Record<string, FieldRule>>>> = {
  alarm: ALARM,
  event: EVENT,
};

/** The documented value of `alarm.event_type` or `event.type`; undefined for any other value. */
export function documentedEvent(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  return Object.hasOwn(EVENT_TYPES, value) || new Set<string>(ONLINE_DATA_EVENT_TYPES).has(value)
    ? value
    : undefined;
}
