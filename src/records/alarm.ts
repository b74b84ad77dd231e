import { BREACHES, CATEGORIES } from "../common/gateway-facts.js";

/** The documented severities of an alarm. */
export type AlarmSeverity = "Low" | "Medium" | "High" | "Info";

/** The documented statuses of an alarm. */
export type AlarmStatus = "NEW" | "CLOSED";

/** The documented sources of a bureau's alarm, which has the same value in `event_type`. */
export type BureauSource =
  | "BureauIdentity"
  | "BureauCreditA"
  | "BureauCreditAConnect"
  | "BureauCreditAEnquiry"
  | "BureauCreditB";

/** The documented sources of an alarm: the breach database, or a bureau. */
export type AlarmSource = "BreachDb" | BureauSource;

/** The documented event types of an alarm: the breached item, or the bureau's value. */
export type AlarmEventType =
  | "email_hacked"
  | "phone_hacked"
  | "ssn_hacked"
  | "iban_hacked"
  | "credit_card_hacked"
  | "passport_hacked"
  | "drivers_license_hacked"
  | "domain_hacked"
  | BureauSource;

/**
 * An alarm record, the content of a `new_alarm` delivery. Every documented field is present and none is null. An enum
 * field also takes values that the gateway adds later. Fields beyond these: `extraFields(alarm)`.
 */
export interface Alarm {
  /** Id of the alarm, an integer. */
  readonly id: number;
  /** Human-readable summary. Personal data. */
  readonly text: string;
  /** Gateway account that the alarm is about, an integer. */
  readonly account_id: number;
  /** `Low`, `Medium`, `High`, `Info`, or a value added later. */
  readonly severity: AlarmSeverity | (string & {});
  /**
   * `NEW` when the alarm is created; `CLOSED` after it is closed. The body is built when the request is, so a late
   * attempt may bring an alarm that is already closed.
   */
  readonly status: AlarmStatus | (string & {});
  /** `BreachDb`, a bureau, or a value added later. */
  readonly source: AlarmSource | (string & {});
  /** What was found, such as `email_hacked`; equal to `source` for a bureau. */
  readonly event_type: AlarmEventType | (string & {});
  /** 1 identity, 2 financial, 3 darkweb, 4 credit card, 5 company, 6 passport, 7 driver's license. */
  readonly category_id: number;
  /** Id of the upstream event, free text. */
  readonly original_event_id: string;
  /** Vendor data, a JSON document in a string; read it with `parseAlarmPayload`. Personal data. */
  readonly payload: string;
  /** Date of the finding, `YYYY-MM-DD HH:MM:SS` (UTC) or ISO 8601; read it with `parseGatewayTime`. */
  readonly date: string;
  /** Time of the check, `YYYY-MM-DD HH:MM:SS` (UTC) or ISO 8601; read it with `parseGatewayTime`. */
  readonly checked_at: string;
  /** Time of creation, `YYYY-MM-DD HH:MM:SS` (UTC) or ISO 8601; read it with `parseGatewayTime`. */
  readonly created_at: string;
  /** Time of the last change, `YYYY-MM-DD HH:MM:SS` (UTC) or ISO 8601; read it with `parseGatewayTime`. */
  readonly updated_at: string;
}

/** The documented categories of an alarm. */
export type AlarmCategory = (typeof CATEGORIES)[keyof typeof CATEGORIES];

/**
 * The category of each `category_id`: `ALARM_CATEGORIES[alarm.category_id]` (the gateway's document, section "Alarm").
 * Undefined for an id that the gateway adds later.
 */
export const ALARM_CATEGORIES: Readonly<Record<number, AlarmCategory | undefined>> =
  Object.freeze(CATEGORIES);

/** The documented watchlist items, as the gateway names them. */
export type WatchlistItem = (typeof BREACHES)[keyof typeof BREACHES];

/**
 * The watchlist item that an alarm of the breach database is about, such as "Email address" for `email_hacked` (the
 * gateway's document, section "Alarm"). Undefined for an alarm of a bureau, and for a value that the gateway adds later.
 */
export function watchlistItemOf(eventType: string): WatchlistItem | undefined {
  return Object.hasOwn(BREACHES, eventType)
    ? BREACHES[eventType as keyof typeof BREACHES]
    : undefined;
}
