import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";
import { ALARM_EVENT_TYPES, sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import type { DateFormat } from "../samples/sample-options.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { COMPUTE_SIGNATURE, recordsWith } from "./rule-kinds.js";
import { each, freshSeed, sampleText, withMember } from "./test-deliveries.js";

const OPEN_FIX = "Accept unknown fields and values: the gateway may add some at any time.";
const FORMATS: readonly DateFormat[] = ["legacy", "standardized"];

/** Every kind of record that the gateway's document allows must be accepted. */
export const genuineRecordRules: ConformanceRules = {
  alarm: {
    title: "a genuine alarm is acknowledged",
    needs: ["new_alarm"],
    fix: `${COMPUTE_SIGNATURE}. Check that this is the secret of this webhook, without a newline at its end.`,
    accept: async ({ deliver }) => [["an alarm", await deliver({ type: "new_alarm" })]],
  },
  event: {
    title: "a genuine Online Data event is acknowledged",
    needs: ["delete_my_data_event"],
    fix: ({ types }) => `${COMPUTE_SIGNATURE}. If the receiver gets only alarms, set ${types}.`,
    accept: async ({ deliver }) => [["an event", await deliver({ type: "delete_my_data_event" })]],
  },
  alarm_types: {
    title: "an alarm of every documented event_type is acknowledged",
    needs: ["new_alarm"],
    fix: "Accept every event_type and source of the gateway's document.",
    accept: (context) =>
      recordsWith(
        context,
        ALARM_EVENT_TYPES.map((event_type) => ["new_alarm", event_type, { event_type }]),
      ),
  },
  event_types: {
    title: "an event of every documented type is acknowledged, with and without a site",
    needs: ["delete_my_data_event"],
    fix: "Accept every event.type of the gateway's document. The site fields may be null.",
    accept: (context) =>
      recordsWith(
        context,
        ONLINE_DATA_EVENT_TYPES.map((type) => ["delete_my_data_event", type, { type }]),
      ),
  },
  date_formats: {
    title: "both date formats are acknowledged",
    fix: "Accept `YYYY-MM-DD HH:MM:SS` and ISO 8601 with `Z` or an offset (Versioning, rules 2 and 3).",
    accept: (context) =>
      recordsWith(
        context,
        FORMATS.flatMap((format) => {
          const options = { seed: freshSeed(), format };
          const event = sampleOnlineDataEvent("DATA_REAPPEARED", {}, options);
          return [
            ["new_alarm", `${format} dates`, { ...sampleAlarm({}, options) }],
            ["delete_my_data_event", `${format} date of an event`, { ...event }],
          ] as const;
        }),
      ),
  },
  unknown_fields: {
    title: "a record with a new field is acknowledged",
    fix: OPEN_FIX,
    accept: async (context) => {
      const { types } = context.settings;
      const beside = await each(types, async (type) => {
        const body = withMember(sampleText(type), '"meta":{"schema":"2027-01-01"}');
        return [`a new key beside the ${type}`, await context.deliver({ type, body })] as const;
      });
      const within = await recordsWith(context, [
        ["new_alarm", "a new field", { risk: { score: 7, of: [10] } }],
        ["delete_my_data_event", "a new field of an event", { evidence: { pages: [1, null] } }],
      ]);
      return [...within, ...beside];
    },
  },
  unknown_values: {
    title: "a record with a new severity, category, source or event type is acknowledged",
    fix: OPEN_FIX,
    accept: (context) =>
      recordsWith(context, [
        ["new_alarm", "a new severity", { severity: "Critical" }],
        ["new_alarm", "a new category", { category_id: 8 }],
        ["new_alarm", "a new event_type", { event_type: "wallet_hacked" }],
        ["new_alarm", "a new source", { source: "BureauX", event_type: "BureauX" }],
        ["delete_my_data_event", "a new severity of an event", { severity: "NOTICE" }],
      ]),
  },
};
