import { isWebhookType } from "../delivery/headers.js";
import { ALARM_FIELDS, type Alarm } from "./alarm.js";
import type { Decoded } from "./decoded.js";
import {
  ALARM_EVENT_TYPES,
  ALARM_SEVERITIES,
  ALARM_SOURCES,
  ALARM_STATUSES,
  EVENT_SEVERITIES,
  LAST_CATEGORY_ID,
} from "./documented-values.js";
import {
  isOnlineDataEventType,
  ONLINE_DATA_EVENT_FIELDS,
  type OnlineDataEvent,
} from "./online-data-event.js";

/** Most delivery bodies have nothing that is not documented. */
const NONE: readonly string[] = [];
/** Other names are not written: the name of a field could be a value, such as an e-mail address. */
const HARMLESS_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
/** A body may have a million fields. */
const MAX_FIELDS = 100;

/**
 * What a decoded delivery has that GATEWAY.md does not list, one sentence each: "alarm.new_field is not
 * documented", "alarm.severity has a value that is not documented". Names fields, never a value. Names at most
 * 100 fields of one delivery. `claimedType` is X-Webhook-Type.
 */
export function driftOf(decoded: Decoded, claimedType: string): readonly string[] {
  switch (decoded.kind) {
    case "new_alarm":
      return isDocumentedAlarm(decoded.record) ? NONE : driftOfAlarm(decoded.record);
    case "delete_my_data_event":
      return isDocumentedEvent(decoded.record) ? NONE : driftOfEvent(decoded.record);
    case "unrecognized":
      return driftOfBody(decoded.body, claimedType);
    case "type_mismatch":
      return NONE;
  }
}

/** A decoded record has every documented field, so one with as many keys has no other. */
function isDocumentedAlarm(alarm: Alarm): boolean {
  return (
    Object.keys(alarm).length === ALARM_FIELDS.length &&
    ALARM_SEVERITIES.has(alarm.severity) &&
    ALARM_STATUSES.has(alarm.status) &&
    ALARM_SOURCES.has(alarm.source) &&
    ALARM_EVENT_TYPES.has(alarm.event_type) &&
    isCategory(alarm.category_id)
  );
}

function isDocumentedEvent(event: OnlineDataEvent): boolean {
  return (
    Object.keys(event).length === ONLINE_DATA_EVENT_FIELDS.length &&
    EVENT_SEVERITIES.has(event.severity) &&
    isOnlineDataEventType(event.type)
  );
}

function isCategory(id: number): boolean {
  return id >= 1 && id <= LAST_CATEGORY_ID;
}

function driftOfAlarm(alarm: Alarm): readonly string[] {
  return [
    ...unknownFields("alarm", alarm, ALARM_FIELDS),
    ...unknownValues("alarm", {
      severity: ALARM_SEVERITIES.has(alarm.severity),
      status: ALARM_STATUSES.has(alarm.status),
      source: ALARM_SOURCES.has(alarm.source),
      event_type: ALARM_EVENT_TYPES.has(alarm.event_type),
      category_id: isCategory(alarm.category_id),
    }),
  ];
}

function driftOfEvent(event: OnlineDataEvent): readonly string[] {
  return [
    ...unknownFields("event", event, ONLINE_DATA_EVENT_FIELDS),
    ...unknownValues("event", {
      severity: EVENT_SEVERITIES.has(event.severity),
      type: isOnlineDataEventType(event.type),
    }),
  ];
}

/** A body without a documented record may be of a webhook type that the gateway added. */
function driftOfBody(body: unknown, claimedType: string): readonly string[] {
  const isRecord = typeof body === "object" && body !== null && !Array.isArray(body);
  return [
    ...(isWebhookType(claimedType) ? [] : ["X-Webhook-Type has a value that is not documented"]),
    ...(isRecord ? unknownFields("body", body, ["alarm", "event"]) : []),
  ];
}

function unknownFields(owner: string, record: object, known: readonly string[]): string[] {
  return Object.keys(record)
    .filter((name) => !known.includes(name))
    .slice(0, MAX_FIELDS)
    .map((name) =>
      HARMLESS_NAME.test(name)
        ? `${owner}.${name} is not documented`
        : `${owner} has a field with an unusual name, which is not documented`,
    );
}

function unknownValues(owner: string, isKnown: Readonly<Record<string, boolean>>): string[] {
  return Object.entries(isKnown)
    .filter(([, known]) => !known)
    .map(([field]) => `${owner}.${field} has a value that is not documented`);
}
