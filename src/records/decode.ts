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
  const rules = hasAlarm ? ALARM_RULES : eventRules(record["type"]);
  const isDocumented = isAsDocumented(record, rules.inOrder);
  const issues = isDocumented ? [] : convert(record, owner, rules.siteLast);
  if (issues.length > 0) return { kind: "unrecognized", body, issues };
  return { kind, record: record as unknown as Alarm & OnlineDataEvent, isDocumented };
}

/**
 * Whether a record is as the gateway's document has it, as most are. By the order of its fields, since looking each of
 * them up takes 5 % of a delivery.
 */
function isAsDocumented(record: JsonObject, rules: readonly FieldRule[]): boolean {
  let at = 0;
  for (const name in record) {
    const rule = rules[at];
    const value = record[name];
    if (rule?.name !== name || !isRight(rule, value) || rule.known?.has(value) === false)
      return false;
    at += 1;
  }
  return at === rules.length;
}

function isRight({ holds }: FieldRule, value: unknown): boolean {
  if (holds === "integer") return Number.isSafeInteger(value);
  return holds === "text" ? typeof value === "string" : value === null;
}

/** Converts the documented fields of `record` in place. Returns what is wrong with those that cannot be. */
function convert(record: JsonObject, owner: string, rules: readonly FieldRule[]): DeliveryIssue[] {
  const issues: DeliveryIssue[] = [];
  for (const rule of rules) {
    const { name, holds, orNull } = rule;
    const sent = record[name];
    if (isRight(rule, sent) || (sent === null && orNull)) continue;
    const value = holds === "integer" ? digitsToNumber(sent) : numberToText(sent);
    if (isRight(rule, value)) record[name] = value;
    else issues.push({ path: [owner, name], message: expected(holds, sent) });
  }
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
