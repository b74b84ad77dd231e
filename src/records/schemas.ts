// `zod/mini`, and as a namespace: classic zod is 22 kB in a bundle, mini 4 kB.
import * as z from "zod/mini";
import { hasPlainSiteFields } from "./plain-records.js";

/** Severities of an alarm (GATEWAY.md, "Alarm"). */
export type AlarmSeverity = "Low" | "Medium" | "High" | "Info";
/** Statuses of an alarm (GATEWAY.md, "Alarm"). */
export type AlarmStatus = "NEW" | "CLOSED";
/** Where an alarm comes from (GATEWAY.md, "Alarm"). */
export type AlarmSource = "BreachDb" | BureauSource;
/** The bureau sources; such an alarm carries the same value as `event_type`. */
export type BureauSource =
  | "BureauIdentity"
  | "BureauCreditA"
  | "BureauCreditAConnect"
  | "BureauCreditAEnquiry"
  | "BureauCreditB";
/** What was found (GATEWAY.md, "Alarm"). */
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
/** Severities of an Online Data event (GATEWAY.md, "Online Data event"). */
export type OnlineDataSeverity = "INFO" | "SUCCESS" | "WARNING";

/** An enum that may gain members: the known ones complete in an editor, any other text passes. */
type Open<Known extends string> = Known | (string & {});

// Every schema that can refuse has a message of its own. Another would come from zod's configuration,
// which is the whole process's, and may quote the value: personal data, in the log.
const INTEGER = "expected an integer";
const TEXT = "expected a string";
const NULL = "expected null";
const OBJECT = "expected an object";
const TYPE = "expected an event type";

/** An integer, or its digits: legacy formats vary. Beyond the safe range digits would be lost, so refused. */
const integer = z.pipe(z.transform(digitsToNumber), z.int(INTEGER));

/** A string, or a number that can be written as one without loss. */
function text<T extends string = string>() {
  return z.pipe(z.transform(numberToText), z.string(TEXT)) as unknown as z.ZodMiniType<T>;
}

function digitsToNumber(value: unknown): unknown {
  return typeof value === "string" && /^-?[0-9]{1,16}$/.test(value) ? Number(value) : value;
}

function numberToText(value: unknown): unknown {
  if (typeof value !== "number") return value;
  // 12345678901234567890 arrives as …67000 and 1e400 as Infinity: to hand either on would be a lie.
  const isExact = Number.isSafeInteger(value) || !Number.isInteger(value);
  return Number.isFinite(value) && isExact ? String(value) : value;
}

const alarmFields = {
  id: integer,
  text: text(),
  account_id: integer,
  severity: text<Open<AlarmSeverity>>(),
  status: text<Open<AlarmStatus>>(),
  source: text<Open<AlarmSource>>(),
  event_type: text<Open<AlarmEventType>>(),
  category_id: integer,
  original_event_id: text(),
  payload: text(),
  date: text(),
  checked_at: text(),
  created_at: text(),
  updated_at: text(),
};

/** An alarm record (GATEWAY.md, "Alarm"). Unknown fields stay, unknown enum values pass. */
export const alarmSchema = z.looseObject(alarmFields, OBJECT);

/** An alarm record. Dates are as the gateway wrote them: `parseGatewayTime` reads both formats. */
export type Alarm = z.output<typeof alarmSchema>;

const eventFields = {
  severity: text<Open<OnlineDataSeverity>>(),
  account_id: integer,
  client_id: text(),
  occurred_at: text(),
};

const siteFields = { site_id: integer, site_name: text(), site_base_url: text() };

function siteEvent<const T extends string>(type: T) {
  return z.looseObject({ type: z.literal(type, TYPE), ...eventFields, ...siteFields }, OBJECT);
}

const knownOnlineDataEventSchema = z.discriminatedUnion(
  "type",
  [
    siteEvent("DELETION_REQUEST_SENT"),
    siteEvent("USER_MANUAL_INSTRUCTIONS_SENT"),
    siteEvent("DATA_DELETED"),
    siteEvent("DATA_REAPPEARED"),
    siteEvent("PERSONAL_DATA_FOUND"),
    siteEvent("PERSONAL_DATA_NOT_FOUND"),
    z.looseObject(
      {
        type: z.literal("POWER_OF_ATTORNEY_SIGNED", TYPE),
        ...eventFields,
        site_id: z.null(NULL),
        site_name: z.null(NULL),
        site_base_url: z.null(NULL),
      },
      OBJECT,
    ),
  ],
  { error: ({ code }) => ((code as string) === "invalid_type" ? OBJECT : TYPE) },
);

/** An Online Data event of a documented type; `type` tells the members apart. */
export type KnownOnlineDataEvent = z.output<typeof knownOnlineDataEventSchema>;
/** The documented event types (GATEWAY.md, "delete_my_data_event"). */
export type OnlineDataEventType = KnownOnlineDataEvent["type"];

/** The documented event types, in the order of the gateway's document. */
export const ONLINE_DATA_EVENT_TYPES: readonly OnlineDataEventType[] =
  knownOnlineDataEventSchema.def.options.flatMap((option) => option.shape.type.def.values);

const knownEventTypes = new Set<unknown>(ONLINE_DATA_EVENT_TYPES);

/** Whether the gateway documents this event type. */
export function isOnlineDataEventType(type: string): type is OnlineDataEventType {
  return knownEventTypes.has(type);
}

/** Whether an event of a documented type with a site has the types of its schema as it is. */
export function isPlainSiteEvent(event: Readonly<Record<string, unknown>>): boolean {
  const type = event["type"];
  return (
    type !== "POWER_OF_ATTORNEY_SIGNED" && knownEventTypes.has(type) && hasPlainSiteFields(event)
  );
}

const openOnlineDataEventSchema = z.looseObject(
  {
    // A documented type must not slip in here with fields that its own member refuses.
    type: text<string & {}>().check(
      z.refine((type) => !isOnlineDataEventType(type), { error: TYPE, abort: true }),
    ),
    ...eventFields,
    site_id: z.nullable(integer),
    site_name: z.nullable(text()),
    site_base_url: z.nullable(text()),
  },
  OBJECT,
);

/** An Online Data event of a type that the gateway added since. */
export type OpenOnlineDataEvent = z.output<typeof openOnlineDataEventSchema>;

/**
 * An Online Data event record (GATEWAY.md, "Online Data event"): site fields are set on site events
 * and null on `POWER_OF_ATTORNEY_SIGNED`. Unknown fields stay, unknown event types pass.
 */
export const onlineDataEventSchema = z.union(
  [knownOnlineDataEventSchema, openOnlineDataEventSchema],
  OBJECT,
);

/** An Online Data event. `isKnownOnlineDataEvent` narrows the open member away. */
export type OnlineDataEvent = z.output<typeof onlineDataEventSchema>;

/** Whether an event is of a documented type, so that its `type` narrows the site fields. */
export function isKnownOnlineDataEvent(event: OnlineDataEvent): event is KnownOnlineDataEvent {
  return isOnlineDataEventType(event.type);
}

/** The body of a `new_alarm` delivery: `{ alarm }`. */
export const newAlarmSchema = z.looseObject({ alarm: alarmSchema }, OBJECT);
/** The body of a `delete_my_data_event` delivery: `{ event }`. */
export const deleteMyDataEventSchema = z.looseObject({ event: onlineDataEventSchema }, OBJECT);

/** The documented fields, which validation may convert. All other fields are left as they came. */
export const ALARM_FIELDS: readonly string[] = Object.keys(alarmFields);
export const ONLINE_DATA_EVENT_FIELDS: readonly string[] = [
  "type",
  ...Object.keys(eventFields),
  ...Object.keys(siteFields),
];
