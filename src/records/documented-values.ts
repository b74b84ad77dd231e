import type { AlarmEventType, AlarmSeverity, AlarmSource, AlarmStatus } from "./alarm.js";
import type { OnlineDataSeverity } from "./online-data-event.js";

// Records and not lists, so that the compiler finds a missing value.

function namesOf<Name extends string>(values: Record<Name, true>): ReadonlySet<string> {
  return new Set(Object.keys(values));
}

/** The documented values of `alarm.severity` (the gateway's document, section "Alarm"). */
export const ALARM_SEVERITIES = namesOf<AlarmSeverity>({
  Low: true,
  Medium: true,
  High: true,
  Info: true,
});
/** The documented values of `alarm.status` (the gateway's document, section "Alarm status"). */
export const ALARM_STATUSES = namesOf<AlarmStatus>({ NEW: true, CLOSED: true });
/** The documented values of `alarm.source` (the gateway's document, section "Alarm"). */
export const ALARM_SOURCES = namesOf<AlarmSource>({
  BreachDb: true,
  BureauIdentity: true,
  BureauCreditA: true,
  BureauCreditAConnect: true,
  BureauCreditAEnquiry: true,
  BureauCreditB: true,
});
/** The documented values of `alarm.event_type` (the gateway's document, section "Alarm"). */
export const ALARM_EVENT_TYPES = namesOf<AlarmEventType>({
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
});
/** The documented values of `event.severity` (the gateway's document, section "Online Data event"). */
export const EVENT_SEVERITIES = namesOf<OnlineDataSeverity>({
  INFO: true,
  SUCCESS: true,
  WARNING: true,
});
/** The documented values of `alarm.category_id` (the gateway's document, section "Alarm"). */
export const ALARM_CATEGORY_IDS: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 6, 7]);
