import { ONLINE_DATA_EVENT_TYPES } from "../../records/online-data-event.js";
import { ALARM_EVENT_TYPES, sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import type { ConformanceRule } from "./conformance-rule.js";
import { acceptRule, COMPUTE_SIGNATURE } from "./rule-kinds.js";
import { freshSeed, sampleText, type MakeDelivery } from "./test-deliveries.js";

const OPEN_FIX = "Accept unknown fields and values: the gateway may add some at any time.";

/** An alarm with some fields changed, and its name for a message. */
export const alarmWith = async (
  deliver: MakeDelivery,
  name: string,
  changes: Record<string, unknown>,
) => [name, await deliver({ body: sampleText("new_alarm", changes) })] as const;

/** Every kind of record that the gateway's document allows must be accepted. */
export const genuineRecordRules: readonly ConformanceRule[] = [
  acceptRule(
    {
      id: "alarm",
      title: "a genuine alarm is acknowledged",
      needs: ["new_alarm"],
      fix: `${COMPUTE_SIGNATURE}. Check that this is the secret of this webhook, without a newline at its end.`,
    },
    async (deliver) => [["an alarm", await deliver({ type: "new_alarm" })]],
  ),
  acceptRule(
    {
      id: "event",
      title: "a genuine Online Data event is acknowledged",
      needs: ["delete_my_data_event"],
      fix: `${COMPUTE_SIGNATURE}. If the receiver gets only alarms, set the option types.`,
    },
    async (deliver) => [["an event", await deliver({ type: "delete_my_data_event" })]],
  ),
  acceptRule(
    {
      id: "alarm_types",
      title: "an alarm of every documented event_type is acknowledged",
      needs: ["new_alarm"],
      fix: "Accept every event_type and source of the gateway's document.",
    },
    (deliver) =>
      Promise.all(
        ALARM_EVENT_TYPES.map(async (event_type) => {
          const body = JSON.stringify({
            alarm: sampleAlarm({ event_type }, { seed: freshSeed() }),
          });
          return [event_type, await deliver({ type: "new_alarm", body })] as const;
        }),
      ),
  ),
  acceptRule(
    {
      id: "event_types",
      title: "an event of every documented type is acknowledged, with and without a site",
      needs: ["delete_my_data_event"],
      fix: "Accept every event.type of the gateway's document. The site fields may be null.",
    },
    (deliver) =>
      Promise.all(
        ONLINE_DATA_EVENT_TYPES.map(async (type) => {
          const body = JSON.stringify({
            event: sampleOnlineDataEvent(type, {}, { seed: freshSeed() }),
          });
          return [type, await deliver({ type: "delete_my_data_event", body })] as const;
        }),
      ),
  ),
  acceptRule(
    {
      id: "date_formats",
      title: "both date formats are acknowledged",
      needs: ["new_alarm"],
      fix: "Accept `YYYY-MM-DD HH:MM:SS` and ISO 8601 (Versioning, rules 2 and 3).",
    },
    (deliver) =>
      Promise.all(
        (["legacy", "standardized"] as const).map(async (format) => {
          const body = JSON.stringify({ alarm: sampleAlarm({}, { seed: freshSeed(), format }) });
          return [`${format} dates`, await deliver({ body })] as const;
        }),
      ),
  ),
  acceptRule(
    {
      id: "unknown_fields",
      title: "an alarm with a new field is acknowledged",
      needs: ["new_alarm"],
      fix: OPEN_FIX,
    },
    async (deliver) => [await alarmWith(deliver, "a new field", { risk: { score: 7, of: [10] } })],
  ),
  acceptRule(
    {
      id: "unknown_values",
      title: "an alarm with a new severity, category, source or event type is acknowledged",
      needs: ["new_alarm"],
      fix: OPEN_FIX,
    },
    async (deliver) => [
      await alarmWith(deliver, "a new severity", { severity: "Critical" }),
      await alarmWith(deliver, "a new category", { category_id: 8 }),
      await alarmWith(deliver, "a new event_type", { event_type: "wallet_hacked" }),
      await alarmWith(deliver, "a new source", { source: "BureauX", event_type: "BureauX" }),
    ],
  ),
];
