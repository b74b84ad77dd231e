// `zod/mini`, and as a namespace: classic zod is 22 kB in a bundle, mini 4 kB.
import * as z from "zod/mini";
import type { Alarm } from "./alarm.js";
import { isOnlineDataEventType, type OnlineDataEvent } from "./online-data-event.js";

// Only validation and `/schemas` import this file: it loads zod.

// Every schema that can refuse has a message of its own. The default message comes from zod's
// configuration, which the whole process shares, and may quote the value: personal data in the log.
const INTEGER = "expected an integer";
const TEXT = "expected a string";
const NULL = "expected null";
const OBJECT = "expected an object";
const TYPE = "expected an event type";

/** An integer, or its digits: legacy formats vary. Refused beyond the safe range, where digits are lost. */
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
  // 12345678901234567890 arrives as …67000 and 1e400 as Infinity: neither is what was sent.
  const isExact = Number.isSafeInteger(value) || !Number.isInteger(value);
  return Number.isFinite(value) && isExact ? String(value) : value;
}

const alarmFields = {
  id: integer,
  text: text(),
  account_id: integer,
  severity: text<Alarm["severity"]>(),
  status: text<Alarm["status"]>(),
  source: text<Alarm["source"]>(),
  event_type: text<Alarm["event_type"]>(),
  category_id: integer,
  original_event_id: text(),
  payload: text(),
  date: text(),
  checked_at: text(),
  created_at: text(),
  updated_at: text(),
};

/** An alarm record (the gateway's document, section "Alarm"). Unknown fields stay, unknown enum values pass. */
export const alarmSchema = z.looseObject(alarmFields, OBJECT);

const eventFields = {
  severity: text<OnlineDataEvent["severity"]>(),
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

const unknownOnlineDataEventSchema = z.looseObject(
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

/**
 * An Online Data event record (the gateway's document, section "Online Data event"): site fields are set on site
 * events
 * and null on `POWER_OF_ATTORNEY_SIGNED`. Unknown fields stay, unknown event types pass.
 */
export const onlineDataEventSchema = z.union(
  [knownOnlineDataEventSchema, unknownOnlineDataEventSchema],
  OBJECT,
);

/** The body of a `new_alarm` delivery: `{ alarm }`. */
export const newAlarmSchema = z.looseObject({ alarm: alarmSchema }, OBJECT);
/** The body of a `delete_my_data_event` delivery: `{ event }`. */
export const deleteMyDataEventSchema = z.looseObject({ event: onlineDataEventSchema }, OBJECT);
