import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";
import { ALARM_EVENT_TYPES } from "../samples/sample-alarm.js";
import { writeTime } from "../samples/sample-times.js";
import type { CaseContext } from "./case-context.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { expectAcceptedOrRetried, type NamedDeliveries } from "./expectations.js";
import { isRetried } from "./receiver-answer.js";
import { LONG_PAYLOAD } from "./record-kinds.js";
import { sendAgain, sendGenuine, sendPastLimiter } from "./resending.js";
import { FINAL_STATUSES_WHY, LENIENT_FIX, recordsWith, type ChangedRecord } from "./rule-kinds.js";
import { inGroups } from "./test-deliveries.js";

/** Fits a column of 255 characters, but none of 64 or 100. */
const LONG_ID = "upstream-event.".repeat(14).slice(0, 200);
const IDS = [LONG_ID, `  {A-1}/ü;№ 0 "x" \\ 'y' #?&=+`, "0", "00000000000000000042", "Two  Blanks"];
const TWO_HOURS_MS = 2 * 3_600_000;

type Values = Readonly<Record<string, readonly unknown[]>>;

/**
 * Values of an alarm that the gateway's document allows and a developer seldom sees, by field. `ahead`: two hours
 * from now, since legacy dates have no zone and may be written in local time.
 */
const alarmValues = (ahead: string): Values => ({
  text: ["", "One\nTwo\r\n\tThree\n", "  two  blanks  ", "0", "text ".repeat(400)],
  created_at: [ahead],
  // Clocks in Europe go from 2:00 to 3:00 on the last of these days.
  date: [ahead, "2019-01-31 23:59:59", "2024-02-29 00:00:00", "2026-03-29 02:30:00"],
  original_event_id: [...IDS, "1e5"],
  payload: [
    LONG_PAYLOAD,
    "{}",
    '[{"name":"Example"}]',
    '"see the report"',
    "null",
    '{\n  "breach": {\r\n\t"name": "Example"\n  }\n}\n',
    '{"breach":null,"matched":null,"exposed":[]}',
    '{"url":"https:\\/\\/example.com:8443\\/a?b=c&d=%2F#e","score":0.1e-7,"id":9007199254740993}',
  ],
  severity: ["Low", "High", "Info"],
  category_id: [7],
});

const EVENT_VALUES: Values = {
  occurred_at: [
    "2026-07-08T22:30:00-05:00",
    "2026-07-08T10:00:00.123+02:00",
    "2026-07-08T10:00:00.5Z",
    "2026-07-08T10:00:00.123456-05:00",
    "2026-07-08T10:00:00+05:30",
    "2026-12-31T23:59:59+00:00",
    "2019-01-31T23:59:59-05:00",
    "2024-02-29T00:00:00+01:00",
    "2026-01-01T00:00:00+14:00",
  ],
  client_id: IDS,
};

const SITE_VALUES: Values = {
  site_id: [0],
  site_name: ["Example\nRecords", " Example  Records "],
  site_base_url: [
    "https://example.com/people/search/",
    "http://example.com",
    "https://example.com:8443/a?b=c&d=%2F#e",
  ],
};
const SITE_TYPES = ONLINE_DATA_EVENT_TYPES.filter((type) => type !== "POWER_OF_ATTORNEY_SIGNED");

/** A record with each value. They go round the types, so that each type has at least two. */
function rareRecords(now: number): readonly ChangedRecord[] {
  const rows = [
    ["new_alarm", "event_type", ALARM_EVENT_TYPES, alarmValues(timeAhead(now))],
    ["delete_my_data_event", "type", ONLINE_DATA_EVENT_TYPES, EVENT_VALUES],
    ["delete_my_data_event", "type", SITE_TYPES, SITE_VALUES],
  ] as const;
  return rows.flatMap(([webhookType, typeField, types, values]) => {
    const pairs = Object.entries(values).flatMap(([field, all]) =>
      all.map((value) => [field, value] as const),
    );
    return pairs.map(([field, value], at): ChangedRecord => {
      const type = types[at % types.length];
      const text = JSON.stringify(value).slice(0, 60);
      return [webhookType, `${field} ${text} (${type})`, { [typeField]: type, [field]: value }];
    });
  });
}

const timeAhead = (now: number): string => writeTime(new Date(now + TWO_HOURS_MS), "legacy");

const rareDeliveries = (context: CaseContext): Promise<NamedDeliveries> =>
  recordsWith(context, rareRecords(context.settings.now()));

/** Must not lose the record. */
export const rareRecordRules: ConformanceRules = {
  rare_values: {
    title: "a record with rare but documented values is handled once or sent again",
    why: `${FINAL_STATUSES_WHY}. Such values are right, so they come one day: an empty text, an offset west of UTC, a long id.`,
    fix: LENIENT_FIX,
    async check(context) {
      await expectAcceptedOrRetried(context, await rareDeliveries(context));
      await expectAlarmZeroTaken(context);
    },
  },
};

/** Should take it. */
export const rareValueRules: ConformanceRules = {
  rare_values_acknowledged: {
    level: "should",
    title: "a record with rare but documented values is acknowledged",
    why: "A record that fails at every attempt is lost after the tenth: nothing about it changes meanwhile.",
    fix: "Accept every value that the gateway's document allows, in each column, parser and log line.",
    async whenAccepted(context) {
      await inGroups(context, await rareDeliveries(context), async ([name, delivery]) => {
        const first = await sendGenuine(context, delivery);
        // A fault of the moment is not the record's.
        const answer = isRetried(first) ? await sendAgain(context, delivery) : first;
        context.expectAcknowledged(name, answer);
      });
    },
  },
};

/** There is only one alarm with the id 0: a receiver that knows it from an earlier run may ignore it. */
async function expectAlarmZeroTaken(context: CaseContext): Promise<void> {
  const [zero, known] = await recordsWith(context, [
    ["new_alarm", "the id 0", { id: 0 }],
    ["new_alarm", "an alarm", {}],
  ]);
  if (zero === undefined || known === undefined) return;
  const copy = await context.deliver({ type: "new_alarm", body: known[1].body });
  for (const delivery of [known[1], copy]) await sendGenuine(context, delivery);
  const ignoresKnown = (await context.settledRunsOf(copy.id)) === 0;
  if (!ignoresKnown) return expectAcceptedOrRetried(context, [zero]);
  const answer = await sendPastLimiter(context, zero[1]);
  const isFine = isRetried(answer) || answer.result === "acknowledged";
  context.expect(isFine, zero[0], "2xx or a retryable status", answer);
}
