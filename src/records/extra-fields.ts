import { ALARM_FIELDS, type Alarm } from "./alarm.js";
import { ONLINE_DATA_EVENT_FIELDS, type OnlineDataEvent } from "./online-data-event.js";

/**
 * The fields of a record that the gateway's document does not list: the gateway may add some at any time. Each
 * has the value that was sent; nothing in it is checked or converted, so an object or a list is whole.
 * Pass the whole record: fields beside it in the body (`{ alarm, added }`) are in `context.rawBody`.
 *
 * Returns a new object with the record's own fields only; one named `__proto__` is an ordinary field.
 * Never throws: a value that is not an object has no extra fields.
 *
 * ```ts
 * new_alarm: async (alarm) => {
 *   const { region } = extraFields(alarm); // unknown: check it before use
 *   await notify(alarm.account_id, typeof region === "string" ? region : undefined);
 * },
 * ```
 */
export function extraFields(record: Alarm | OnlineDataEvent): Record<string, unknown> {
  try {
    if (!isRecord(record)) return {};
    const documented = documentedFields(record);
    const entries = Object.entries(record).filter(([field]) => !documented.includes(field));
    // Not by assignment, which for `__proto__` would set the prototype.
    return Object.fromEntries(entries);
  } catch {
    return {};
  }
}

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Part of a record, as in a test, may belong to either kind. A field that either kind documents is
 * not an extra field.
 */
function documentedFields(record: object): readonly string[] {
  const has = (field: string): boolean => Object.hasOwn(record, field);
  if (ALARM_FIELDS.every(has)) return ALARM_FIELDS;
  if (ONLINE_DATA_EVENT_FIELDS.every(has)) return ONLINE_DATA_EVENT_FIELDS;
  return [...ALARM_FIELDS, ...ONLINE_DATA_EVENT_FIELDS];
}
