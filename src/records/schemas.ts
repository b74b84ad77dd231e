// The entry point of `/schemas`. `zod/mini`, and as a namespace: classic zod is 22 kB in a bundle, mini 4 kB.
import * as z from "zod/mini";
import type { Alarm } from "./alarm.js";
import type { OnlineDataEvent } from "./online-data-event.js";
import {
  ALARM_RULES,
  EXPECTED_OBJECT,
  digitsToNumber,
  eventRules,
  expected,
  numberToText,
  type FieldRule,
  type RecordRules,
} from "./record-fields.js";
import type { StandardSchema } from "./standard-schema.js";

export type { StandardSchema } from "./standard-schema.js";

// Every schema that can refuse has a message of its own. The default message comes from zod's
// configuration, which the whole process shares, and may quote the value.
const FIELDS = {
  integer: z.pipe(z.transform(digitsToNumber), z.int(expecting("integer"))),
  text: z.pipe(z.transform(numberToText), z.string(expecting("text"))),
  null: z.null(expecting("null")),
};

function expecting(holds: FieldRule["holds"]) {
  return { error: ({ input }: { input?: unknown }) => expected(holds, input) };
}

function recordSchema({ siteLast: rules }: RecordRules) {
  const fields = rules.map(({ name, holds, orNull }) => [
    name,
    orNull ? z.nullable(FIELDS[holds]) : FIELDS[holds],
  ]);
  return z.looseObject(Object.fromEntries(fields), EXPECTED_OBJECT);
}

/** A schema for each list of rules. The type decides which one judges an event, so that an issue names its field. */
const eventSchemas = new Map<RecordRules, ReturnType<typeof recordSchema>>();

function eventSchemaOf(event: unknown) {
  const { type } = Object(event) as { readonly type?: unknown };
  const rules = eventRules(type);
  const schema = eventSchemas.get(rules) ?? recordSchema(rules);
  eventSchemas.set(rules, schema);
  return schema;
}

const alarm = recordSchema(ALARM_RULES) as unknown as z.ZodMiniType<Alarm>;
const event = z.transform((value, { issues }) => {
  const { data, error } = z.safeParse(eventSchemaOf(value), value);
  for (const { path, message } of error?.issues ?? []) {
    issues.push({ code: "custom", path, message, input: undefined });
  }
  return data as unknown as OnlineDataEvent;
});

/**
 * An alarm record, as a Standard Schema. It accepts what the receiver accepts: digits for an integer and a number for
 * a string are converted, unknown fields stay, unknown enum values pass. The input is not changed. Validation is
 * synchronous. Each issue names its field and holds no value.
 *
 * ```ts
 * const result = alarmSchema["~standard"].validate(JSON.parse(text));
 * ```
 */
export const alarmSchema: StandardSchema<Alarm> = alarm;

/**
 * An Online Data event record, as a Standard Schema like `alarmSchema`. The site fields are required on site events
 * and null on `POWER_OF_ATTORNEY_SIGNED`; an event type that is not documented passes with either.
 */
export const onlineDataEventSchema: StandardSchema<OnlineDataEvent> = event;

/** The body of a `new_alarm` delivery, `{ alarm }`, as a Standard Schema. */
export const newAlarmSchema: StandardSchema<{ readonly alarm: Alarm }> = z.looseObject(
  { alarm },
  EXPECTED_OBJECT,
);

/** The body of a `delete_my_data_event` delivery, `{ event }`, as a Standard Schema. */
export const deleteMyDataEventSchema: StandardSchema<{ readonly event: OnlineDataEvent }> =
  z.looseObject({ event }, EXPECTED_OBJECT);
