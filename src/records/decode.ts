import type { Alarm } from "./alarm.js";
import type { Decoded, DeliveryIssue, JsonObject } from "./decoded.js";
import type { OnlineDataEvent } from "./online-data-event.js";
import {
  ALARM_RULES,
  EXPECTED_OBJECT,
  digitsToNumber,
  eventRules,
  expected,
  numberToText,
  type FieldRule,
} from "./record-fields.js";

// Strict, so that no two different byte strings decode to one text. A leading BOM is dropped.
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The JSON value of a body. Throws if it is not JSON in UTF-8. */
export function readJson(bytes: Uint8Array): unknown {
  return JSON.parse(utf8.decode(bytes));
}

/**
 * Decodes a signed body. The type comes from the body, which is signed, and `claimedType`, the unsigned
 * header, must agree: otherwise a captured alarm could be sent to another handler.
 */
export function decode(bytes: Uint8Array, claimedType: string): Decoded {
  let body: unknown;
  try {
    body = readJson(bytes);
  } catch {
    // The error is dropped: its message quotes the body.
    return unrecognized(undefined, "expected JSON in UTF-8");
  }
  if (!isObject(body)) return unrecognized(body, EXPECTED_OBJECT);

  const hasAlarm = Object.hasOwn(body, "alarm");
  const hasEvent = Object.hasOwn(body, "event");
  if (hasAlarm && hasEvent) return unrecognized(body, "expected alarm or event, not both");
  if (!hasAlarm && !hasEvent) return unrecognized(body, "expected alarm or event");
  const kind = hasAlarm ? "new_alarm" : "delete_my_data_event";
  if (claimedType !== kind) return { kind: "type_mismatch" };
  const owner = hasAlarm ? "alarm" : "event";
  const record = body[owner];
  if (!isObject(record) || Array.isArray(record)) {
    return unrecognized(body, EXPECTED_OBJECT, [owner]);
  }
  const issues = convert(record, owner, hasAlarm ? ALARM_RULES : eventRules(record["type"]));
  if (issues.length > 0) return { kind: "unrecognized", body, issues };
  return { kind, record: record as unknown as Alarm & OnlineDataEvent };
}

/** Converts the documented fields of `record` in place, if all can be. Returns what is wrong with the others. */
function convert(record: JsonObject, owner: string, rules: readonly FieldRule[]): DeliveryIssue[] {
  const issues: DeliveryIssue[] = [];
  const converted: [name: string, value: unknown][] = [];
  for (const { name, holds, orNull } of rules) {
    const sent = record[name];
    // Most values are right as they came.
    if (
      holds === "integer"
        ? Number.isSafeInteger(sent)
        : holds === "text" && typeof sent === "string"
    )
      continue;
    if (sent === null && (orNull || holds === "null")) continue;
    const value = holds === "integer" ? digitsToNumber(sent) : numberToText(sent);
    const isRight = holds === "integer" ? Number.isSafeInteger(value) : typeof value === "string";
    if (!isRight || holds === "null") {
      issues.push({ path: [owner, name], message: expected(holds, sent) });
    } else if (value !== sent) converted.push([name, value]);
  }
  if (issues.length === 0) for (const [name, value] of converted) record[name] = value;
  return issues;
}

/** The alarm or event of a signed body, of any shape; undefined if it has none. */
export function recordOf(bytes: Uint8Array): unknown {
  try {
    const { alarm, event } = Object(readJson(bytes)) as JsonObject;
    return alarm ?? event;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

function unrecognized(body: unknown, message: string, path: readonly string[] = []): Decoded {
  return { kind: "unrecognized", body, issues: [{ path, message }] };
}
