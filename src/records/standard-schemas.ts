// The entry point of `/schemas`.
import type { Alarm } from "./alarm.js";
import type { OnlineDataEvent } from "./online-data-event.js";
import * as schemas from "./schemas.js";
import type { StandardSchema } from "./standard-schema.js";

export type { StandardSchema } from "./standard-schema.js";

/**
 * An alarm record (the gateway's document, section "Alarm"), as a Standard Schema. It accepts what the receiver
 * accepts:
 * digits for an integer and a number for a string are converted, unknown fields stay, unknown enum
 * values pass. The input is not changed. Validation is synchronous and issues hold no values.
 *
 * ```ts
 * const result = alarmSchema["~standard"].validate(JSON.parse(text));
 * ```
 */
export const alarmSchema: StandardSchema<Alarm> = schemas.alarmSchema;

/**
 * An Online Data event record (the gateway's document, section "Online Data event"), as a Standard Schema like
 * `alarmSchema`. The site fields are required on site events and null on `POWER_OF_ATTORNEY_SIGNED`;
 * an event type that is not documented passes with either.
 */
export const onlineDataEventSchema: StandardSchema<OnlineDataEvent> = schemas.onlineDataEventSchema;

/**
 * The body of a `new_alarm` delivery, `{ alarm }` (the gateway's document, section "new_alarm"), as a Standard Schema.
 */
export const newAlarmSchema: StandardSchema<{ readonly alarm: Alarm }> = schemas.newAlarmSchema;

/**
 * The body of a `delete_my_data_event` delivery, `{ event }` (the gateway's document, section "delete_my_data_event"),
 * as a Standard Schema.
 */
export const deleteMyDataEventSchema: StandardSchema<{ readonly event: OnlineDataEvent }> =
  schemas.deleteMyDataEventSchema;
