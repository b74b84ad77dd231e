import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";
import { ALARM_EVENT_TYPES } from "../samples/sample-alarm.js";
import type { CaseContext } from "./case-context.js";
import type { NamedDeliveries } from "./expectations.js";
import { sendGenuine } from "./resending.js";
import { recordsWith, type ChangedRecord } from "./rule-kinds.js";

/** Text in several scripts, with an emoji, a combining accent and a line separator. */
export const NON_ASCII = "Ålarm – тест – 警報 – 🔔 – e\u0301 – \u2028";
/** Text of 200 KB. */
export const BIG = "x".repeat(200 * 1024);
/** A payload of 10 KB, as of a leak with many entries. */
export const LONG_PAYLOAD = JSON.stringify({ exposed: Array<string>(700).fill("e-mail address") });

const UTC = "2026-07-08T10:00:00Z";
const UTC_DATES = { date: UTC, checked_at: UTC, created_at: UTC, updated_at: UTC };
const NEW_EVENT: ChangedRecord = ["delete_my_data_event", "a new event.type", { type: "SITE_NEW" }];

/** Every documented type, with each source, severity and category, and records of other sizes and forms. */
const KINDS: readonly ChangedRecord[] = [
  ...ALARM_EVENT_TYPES.map((event_type) => ["new_alarm", event_type, { event_type }] as const),
  ["new_alarm", "a new event_type", { event_type: "wallet_hacked" }],
  ["new_alarm", "an alarm of 200 KB", { text: BIG }],
  ["new_alarm", "a payload of 10 KB", { payload: LONG_PAYLOAD }],
  ["new_alarm", "an alarm beyond ASCII", { text: NON_ASCII }],
  ["new_alarm", "an alarm with dates in ISO 8601", UTC_DATES],
  ...ONLINE_DATA_EVENT_TYPES.map((type) => ["delete_my_data_event", type, { type }] as const),
  ["delete_my_data_event", "an event of 200 KB", { evidence: BIG }],
  ["delete_my_data_event", "an event beyond ASCII", { site_name: NON_ASCII }],
  ["delete_my_data_event", "an event with a date in UTC", { occurred_at: UTC }],
];

/**
 * A delivery of each kind of record that a receiver may handle in a branch of its own. A fault often sits in one
 * branch, so a rule that all of them meet finds it there.
 */
export async function deliveriesOfEachKind(context: CaseContext): Promise<NamedDeliveries> {
  const [probe, unknown] = await recordsWith(context, [NEW_EVENT, NEW_EVENT]);
  const kinds = await recordsWith(context, KINDS);
  if (probe === undefined || unknown === undefined) return kinds;
  // A receiver may put off an event type that it does not know.
  const { result } = await sendGenuine(context, probe[1]);
  return result === "acknowledged" ? [...kinds, unknown] : kinds;
}
