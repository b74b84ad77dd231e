import { isObject } from "../common/option-checks.js";
import type { Alarm } from "./alarm.js";
import type { OnlineDataEvent } from "./online-data-event.js";
import { ALARM, EVENT } from "../common/gateway-facts.js";

const ALARM_FIELDS = Object.keys(ALARM);
const EVENT_FIELDS = Object.keys(EVENT);

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
    if (!isObject(record)) return {};
    const documented = documentedFields(record);
    const entries = Object.entries(record).filter(([field]) => !documented.includes(field));
    // Not by assignment, which for `__proto__` would set the prototype.
    return Object.fromEntries(entries);
  } catch {
    return {};
  }
}

/**
 * Part of a record, as in a test, may belong to either kind. A field that either kind documents is
 * not an extra field.
 */
function documentedFields(record: object): readonly string[] {
  const has = (field: string): boolean => Object.hasOwn(record, field);
  if (ALARM_FIELDS.every(has)) return ALARM_FIELDS;
  if (EVENT_FIELDS.every(has)) return EVENT_FIELDS;
  return [...ALARM_FIELDS, ...EVENT_FIELDS];
}
