import { ONLINE_DATA_EVENT_TYPES } from "../../records/online-data-event.js";
import { ALARM_EVENT_TYPES, sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import type { ConformanceRule } from "./conformance-rule.js";
import { freshSeed } from "./deliveries.js";
import { alarmWith, taken } from "./taken.js";

const MAC_MEND =
  "Compute HMAC-SHA256 over `v1:` + X-Webhook-Timestamp + `:` + X-Webhook-Id + `:` + the raw body.";
const OPEN_MEND = "Let unknown fields and values pass: the gateway may add some at any time.";

/** What the gateway sends, with everything that its document allows to be in it. */
export const handlingRules: readonly ConformanceRule[] = [
  taken(
    {
      id: "alarm",
      title: "a genuine alarm is acknowledged",
      needs: ["new_alarm"],
      mend: `${MAC_MEND} Is it the secret of this webhook, without a newline at its end?`,
    },
    async (deliver) => [["an alarm", await deliver({ type: "new_alarm" })]],
  ),
  taken(
    {
      id: "event",
      title: "a genuine Online Data event is acknowledged",
      needs: ["delete_my_data_event"],
      mend: `${MAC_MEND} A receiver of alarms alone is told so by the option types.`,
    },
    async (deliver) => [["an event", await deliver({ type: "delete_my_data_event" })]],
  ),
  taken(
    {
      id: "alarm_types",
      title: "an alarm of every documented event_type is acknowledged",
      needs: ["new_alarm"],
      mend: "Take every event_type and source of the gateway's document.",
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
  taken(
    {
      id: "event_types",
      title: "an event of every documented type is acknowledged, with and without a site",
      needs: ["delete_my_data_event"],
      mend: "Take every event.type of the gateway's document; the site fields may be null.",
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
  taken(
    {
      id: "date_formats",
      title: "both date formats are acknowledged",
      needs: ["new_alarm"],
      mend: "Take `YYYY-MM-DD HH:MM:SS` and ISO 8601 alike (Versioning, rules 2 and 3).",
    },
    (deliver) =>
      Promise.all(
        (["legacy", "standardized"] as const).map(async (format) => {
          const body = JSON.stringify({ alarm: sampleAlarm({}, { seed: freshSeed(), format }) });
          return [`${format} dates`, await deliver({ body })] as const;
        }),
      ),
  ),
  taken(
    {
      id: "unknown_fields",
      title: "fields that were added since are acknowledged",
      needs: ["new_alarm"],
      mend: OPEN_MEND,
    },
    async (deliver) => [await alarmWith(deliver, "a new field", { risk: { score: 7, of: [10] } })],
  ),
  taken(
    {
      id: "unknown_values",
      title: "severities, sources and event types that were added since are acknowledged",
      needs: ["new_alarm"],
      mend: OPEN_MEND,
    },
    async (deliver) => [
      await alarmWith(deliver, "a new severity", { severity: "Critical" }),
      await alarmWith(deliver, "a new category", { category_id: 8 }),
      await alarmWith(deliver, "a new event_type", { event_type: "wallet_hacked" }),
      await alarmWith(deliver, "a new source", { source: "BureauX", event_type: "BureauX" }),
    ],
  ),
];
