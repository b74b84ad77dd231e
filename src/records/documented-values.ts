import type { AlarmEventType, AlarmSeverity, AlarmSource, AlarmStatus } from "./alarm.js";
import type { OnlineDataSeverity } from "./online-data-event.js";

// Records and not lists, so that the compiler finds a missing value.
const ALARM_SEVERITY: Record<AlarmSeverity, true> = {
  Low: true,
  Medium: true,
  High: true,
  Info: true,
};
const ALARM_STATUS: Record<AlarmStatus, true> = { NEW: true, CLOSED: true };
const ALARM_SOURCE: Record<AlarmSource, true> = {
  BreachDb: true,
  BureauIdentity: true,
  BureauCreditA: true,
  BureauCreditAConnect: true,
  BureauCreditAEnquiry: true,
  BureauCreditB: true,
};
const ALARM_EVENT_TYPE: Record<AlarmEventType, true> = {
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
const EVENT_SEVERITY: Record<OnlineDataSeverity, true> = {
  INFO: true,
  SUCCESS: true,
  WARNING: true,
};

const namesOf = (values: Record<string, true>): ReadonlySet<string> => new Set(Object.keys(values));

/** The documented values of `alarm.severity` (GATEWAY.md, "Alarm"). */
export const ALARM_SEVERITIES = namesOf(ALARM_SEVERITY);
/** The documented values of `alarm.status` (GATEWAY.md, "Alarm status"). */
export const ALARM_STATUSES = namesOf(ALARM_STATUS);
/** The documented values of `alarm.source` (GATEWAY.md, "Alarm"). */
export const ALARM_SOURCES = namesOf(ALARM_SOURCE);
/** The documented values of `alarm.event_type` (GATEWAY.md, "Alarm"). */
export const ALARM_EVENT_TYPES = namesOf(ALARM_EVENT_TYPE);
/** The documented values of `event.severity` (GATEWAY.md, "Online Data event"). */
export const EVENT_SEVERITIES = namesOf(EVENT_SEVERITY);
/** The greatest documented `alarm.category_id`; the least is 1 (GATEWAY.md, "Alarm"). */
export const LAST_CATEGORY_ID = 7;
