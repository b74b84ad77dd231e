import * as z from "zod/mini";
import { ALARM_FIELDS } from "./alarm.js";
import type { Decoded, DeliveryIssue, JsonObject } from "./decoded.js";
import { ONLINE_DATA_EVENT_FIELDS } from "./online-data-event.js";
import { deleteMyDataEventSchema, newAlarmSchema } from "./schemas.js";

// Loads zod: `decode` imports this file dynamically, at the first record that needs it.

/** Validates and converts the body of a `new_alarm` delivery. */
export function validateAlarm(body: JsonObject): Decoded {
  const parsed = z.safeParse(newAlarmSchema, body);
  if (!parsed.success) return { kind: "unrecognized", body, issues: issuesOf(parsed.error) };
  const record = convert(body["alarm"] as JsonObject, parsed.data.alarm, ALARM_FIELDS);
  return { kind: "new_alarm", record };
}

/** Validates and converts the body of a `delete_my_data_event` delivery. */
export function validateEvent(body: JsonObject): Decoded {
  const parsed = z.safeParse(deleteMyDataEventSchema, body);
  if (!parsed.success) return { kind: "unrecognized", body, issues: issuesOf(parsed.error) };
  const record = convert(body["event"] as JsonObject, parsed.data.event, ONLINE_DATA_EVENT_FIELDS);
  return { kind: "delete_my_data_event", record };
}

/**
 * Writes the converted fields into the record that JSON.parse made. The output of validation lacks an
 * own `__proto__` key, and no field that was sent may be lost.
 */
function convert<T extends object>(record: JsonObject, validated: T, fields: readonly string[]): T {
  const source = validated as JsonObject;
  for (const field of fields) record[field] = source[field];
  return record as T;
}

function issuesOf(error: z.core.$ZodError): DeliveryIssue[] {
  return error.issues.flatMap((issue) => flatten(issue, []));
}

/** A union reports the issues of every member. Only those of the intended member are useful. */
function flatten(issue: z.core.$ZodIssue, parent: readonly PropertyKey[]): DeliveryIssue[] {
  const path = [...parent, ...issue.path];
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    const intended =
      issue.errors.find((member) => member.every(({ path: [field] }) => field !== "type")) ??
      issue.errors[issue.errors.length - 1];
    return (intended ?? []).flatMap((inner) => flatten(inner, path));
  }
  const { message } = issue;
  return [{ path: path.map((key) => (typeof key === "number" ? key : String(key))), message }];
}
