import * as z from "zod/mini";
import { isPlainAlarm } from "./plain-records.js";
import {
  ALARM_FIELDS,
  ONLINE_DATA_EVENT_FIELDS,
  deleteMyDataEventSchema,
  isPlainSiteEvent,
  newAlarmSchema,
  type Alarm,
  type OnlineDataEvent,
} from "./schemas.js";

/** Where and why a body does not have the documented shape. Never holds a value of the body. */
export interface DeliveryIssue {
  /** From the body's root: `["alarm", "account_id"]`. Empty for the body itself. */
  readonly path: readonly (string | number)[];
  /** What was expected there. */
  readonly message: string;
}

/** What a signed body is. */
export type Decoded =
  | { readonly kind: "new_alarm"; readonly record: Alarm }
  | { readonly kind: "delete_my_data_event"; readonly record: OnlineDataEvent }
  | { readonly kind: "type_mismatch" }
  | Unrecognized;

/** An authentic body that is not as documented. `body` is undefined where it is not JSON. */
export interface Unrecognized {
  readonly kind: "unrecognized";
  readonly body: unknown;
  readonly issues: readonly DeliveryIssue[];
}

// Strict, so that no two different byte strings decode to one text; a leading BOM is dropped.
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The JSON value of a body. Throws where it is not JSON in UTF-8. */
export function readJson(bytes: Uint8Array): unknown {
  return JSON.parse(utf8.decode(bytes));
}

/**
 * Reads a signed body. The type comes from the body, which is signed, and `claimedType`, the header,
 * which is not, must agree: otherwise a captured alarm could be sent on to another handler.
 */
export function decode(bytes: Uint8Array, claimedType: string): Decoded {
  let body: unknown;
  try {
    body = readJson(bytes);
  } catch {
    // The error is dropped: its message quotes the body.
    return unrecognized(undefined, "expected JSON in UTF-8");
  }
  if (!isObject(body)) return unrecognized(body, "expected an object");

  const hasAlarm = Object.hasOwn(body, "alarm");
  const hasEvent = Object.hasOwn(body, "event");
  if (hasAlarm && hasEvent) return unrecognized(body, "expected alarm or event, not both");
  if (hasAlarm) {
    if (claimedType !== "new_alarm") return { kind: "type_mismatch" };
    const { alarm } = body;
    if (isObject(alarm) && isPlainAlarm(alarm))
      return { kind: "new_alarm", record: alarm as Alarm };
    const parsed = z.safeParse(newAlarmSchema, body);
    if (!parsed.success) return { kind: "unrecognized", body, issues: issuesOf(parsed.error) };
    const record = convert(alarm as JsonObject, parsed.data.alarm, ALARM_FIELDS);
    return { kind: "new_alarm", record };
  }
  if (hasEvent) {
    if (claimedType !== "delete_my_data_event") return { kind: "type_mismatch" };
    const { event } = body;
    if (isObject(event) && isPlainSiteEvent(event)) {
      return { kind: "delete_my_data_event", record: event as OnlineDataEvent };
    }
    const parsed = z.safeParse(deleteMyDataEventSchema, body);
    if (!parsed.success) return { kind: "unrecognized", body, issues: issuesOf(parsed.error) };
    const record = convert(event as JsonObject, parsed.data.event, ONLINE_DATA_EVENT_FIELDS);
    return { kind: "delete_my_data_event", record };
  }
  return unrecognized(body, "expected alarm or event");
}

/** An object, or a list, of which nothing more is known. */
type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

function unrecognized(body: unknown, message: string): Unrecognized {
  return { kind: "unrecognized", body, issues: [{ path: [], message }] };
}

/**
 * Writes the converted fields into the record that JSON.parse made, rather than handing on the copy
 * that validation made: that one lacks an own `__proto__` key, and nothing that was sent may be lost.
 */
function convert<T extends object>(record: JsonObject, validated: T, fields: readonly string[]): T {
  const source = validated as JsonObject;
  for (const field of fields) record[field] = source[field];
  return record as T;
}

function issuesOf(error: z.core.$ZodError): DeliveryIssue[] {
  return error.issues.flatMap((issue) => flatten(issue, []));
}

/** A union reports the issues of every member; only those of the member that was meant help anyone. */
function flatten(issue: z.core.$ZodIssue, parent: readonly PropertyKey[]): DeliveryIssue[] {
  const path = [...parent, ...issue.path];
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    const meant =
      issue.errors.find((member) => member.every(({ path: [field] }) => field !== "type")) ??
      issue.errors[issue.errors.length - 1];
    return (meant ?? []).flatMap((inner) => flatten(inner, path));
  }
  const { message } = issue;
  return [{ path: path.map((key) => (typeof key === "number" ? key : String(key))), message }];
}
