import type { WebhookType } from "../../src/delivery/headers.js";
import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";
import { EVENT_TYPES } from "../../src/common/gateway-facts.js";
import { ALARM_EVENT_TYPES, sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import { writeTime } from "../samples/sample-times.js";
import type { CaseContext } from "./case-context.js";
import type { ConformanceSettings } from "./conformance-options.js";
import { isSafe } from "./receiver-answer.js";
import { freshSeed, type ChangedRecord, type NamedDeliveries } from "./test-deliveries.js";

/** Text in several scripts, with an emoji, a combining accent and a line separator. */
export const NON_ASCII = "Ålarm – тест – 警報 – 🔔 – e\u0301 – \u2028 – a\u00a0b\u200b – שלום";
/** Text of 200 KB. */
export const BIG = "x".repeat(200 * 1024);
/** A payload of 10 KB, as of a leak with many entries. */
const LONG_PAYLOAD = JSON.stringify({ exposed: Array<string>(700).fill("e-mail address") });

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
  const [probe, unknown] = await context.records([NEW_EVENT, NEW_EVENT]);
  const kinds = await context.records(KINDS);
  if (probe === undefined || unknown === undefined) return kinds;
  // A receiver may put off an event type that it does not know.
  const { result } = await context.sendGenuine(probe[1]);
  return result === "acknowledged" ? [...kinds, unknown] : kinds;
}

/** What firewalls refuse, and what templates and decoders change. */
export const HOSTILE_TEXTS = [
  "<script>alert(1)</script>",
  "' OR 1=1--",
  "../../etc/passwd",
  "${jndi:ldap://x}",
  "{{7*7}}",
  "100%",
  "%41",
  "%s %n",
  "$& $' $1",
  "&amp; &#39;",
  "C:\\new\\table\\u0041",
  "a+b",
  "<?php system('id'); ?>",
  '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
  "`id` $(id) | cat /etc/passwd; rm -rf /",
  "%00 %0d%0aSet-Cookie: a=b",
  "https://user:pass@example.test/login.php?id=1&next=//x#top",
  "UNION SELECT * FROM users; DROP TABLE alarms; /* xp_cmdshell */",
  "javascript:eval(atob('YQ==')) onerror=alert(1)",
  "cmd.exe /c powershell -enc AAAA & whoami",
];

/** What clients and libraries call themselves. Filters take some of them for robots. */
export const USER_AGENTS = [
  "GuzzleHttp/7",
  "python-requests/2.32.3",
  "Go-http-client/1.1",
  "Java/17.0.12",
  "axios/1.7.2",
  "curl/8.5.0",
  "Symfony HttpClient/Curl",
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
];
export const PROXY_HEADERS = [
  ["X-Forwarded-For", "203.0.113.7, 198.51.100.2"],
  ["X-Forwarded-Proto", "http"],
  ["X-Real-IP", "203.0.113.7"],
  ["Forwarded", "for=203.0.113.7;proto=http"],
  ["Via", "1.0 proxy.example"],
] as const;
export const JSON_AND_TEXT_TYPES = [
  "application/json; charset=utf-8",
  "application/json;charset=UTF-8",
  "APPLICATION/JSON",
  "application/json; charset=latin1",
  "application/vnd.api+json",
  "text/plain",
  "application/octet-stream",
  "",
];
/** Some servers parse these before the app sees the request, and refuse what is no form. */
export const FORM_TYPES = [
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  ";;;",
];

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
  text: ["", "One\nTwo\r\n\tThree\n", "  two  blanks  ", "0", "Test ".repeat(400)],
  // Clocks in Europe go from 2:00 to 3:00 on the last of these days.
  date: [ahead, "2019-01-31 23:59:59", "2024-02-29 00:00:00", "2026-03-29 02:30:00"],
  severity: ["Low", "Info", "High"],
  original_event_id: [...IDS, "1e5"],
  payload: [
    LONG_PAYLOAD,
    "{}",
    '[{"name":"Example"}]',
    '"see the report"',
    "null",
    '{\n  "breach": {\r\n\t"name": "Example"\n  }\n}\n',
    '{"breach":null,"matched":null,"exposed":[]}',
    '{"text":"a\\u0000b"}',
    '{"url":"https:\\/\\/example.com:8443\\/a?b=c&d=%2F#e","score":0.1e-7,"id":9007199254740993}',
  ],
  category_id: [7],
  created_at: [ahead],
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
    "https://räksmörgås.example.com",
    "example.com",
    "www.example.com/opt-out",
    "https://example.com:8443/a?b=c&d=%2F#e",
  ],
};
const SITE_TYPES = ONLINE_DATA_EVENT_TYPES.filter((type) => EVENT_TYPES[type].hasSite);

/** A record with each value. They go round the types, so that each type has at least two. */
function rareRecords({ now, leftOut }: ConformanceSettings): readonly ChangedRecord[] {
  const rows = [
    ["new_alarm", "event_type", ALARM_EVENT_TYPES, alarmValues(timeAhead(now()))],
    ["delete_my_data_event", "type", ONLINE_DATA_EVENT_TYPES, EVENT_VALUES],
    ["delete_my_data_event", "type", SITE_TYPES, SITE_VALUES],
  ] as const;
  return rows.flatMap(([webhookType, typeField, all, values]) => {
    const types = all.filter((type: string) => !leftOut.includes(type));
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

/** A delivery of each record whose type the receiver is registered for. */
export function ofRecords(records: readonly ChangedRecord[]) {
  return (context: CaseContext): Promise<NamedDeliveries> => context.records(records);
}

/** A delivery of each of these records. */
export const rareDeliveries = (context: CaseContext): Promise<NamedDeliveries> =>
  context.records(rareRecords(context.settings));

/** Each of these records must be handled once or sent again. */
export async function expectRareRecordsTaken(context: CaseContext): Promise<void> {
  await context.expectAcceptedOrRetried(await rareDeliveries(context));
  await expectAlarmZeroTaken(context);
}

/** There is only one alarm with the id 0: a receiver that knows it from an earlier run may ignore it. */
async function expectAlarmZeroTaken(context: CaseContext): Promise<void> {
  const [zero, known] = await context.records([
    ["new_alarm", "the id 0", { id: 0 }],
    ["new_alarm", "an alarm", {}],
  ]);
  if (zero === undefined || known === undefined) return;
  const copy = await context.deliver({ type: "new_alarm", body: known[1].body });
  for (const delivery of [known[1], copy]) await context.sendGenuine(delivery);
  const ignoresKnown = (await context.settledRunsOf(copy.id)) === 0;
  if (!ignoresKnown) return context.expectAcceptedOrRetried([zero]);
  const answer = await context.sendPastLimiter(zero[1]);
  context.expect(isSafe(answer), zero[0], "2xx or a retryable status", answer);
}

/** Deeper than the parsers of several languages go, and no problem for others. */
const NESTING = 20_000;
/** A new id that does not fit a signed 32-bit column. */
export const bigId = (): number => 2 ** 31 + freshSeed();

/** Members of a record that some languages or parsers trip over, as JSON text. */
export const ODD_MEMBERS: readonly (readonly [name: string, member: string])[] = [
  [
    "__proto__ and constructor as keys",
    '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}',
  ],
  ["a number beyond 64 bits", '"score":123456789012345678901234567890,"ratio":1e400'],
  ["a NUL in a text", '"note":"a\\u0000b"'],
  ["half of a surrogate pair", '"note":"\\ud83d"'],
  ["deep nesting", `"nested":${"[".repeat(NESTING)}${"]".repeat(NESTING)}`],
];

/** A record without each of its fields, and with null instead. */
export function withoutEach(type: WebhookType, record: object): readonly ChangedRecord[] {
  return Object.keys(record).flatMap((field): readonly ChangedRecord[] => [
    [type, `no ${field} (${type})`, { [field]: undefined }],
    [type, `null instead of ${field} (${type})`, { [field]: null }],
  ]);
}

/** Records that share all that they can, and are different records all the same. */
export function lookalikes(type: WebhookType): readonly Record<string, unknown>[] {
  return type === "new_alarm" ? similarAlarms() : similarEvents();
}

function similarAlarms(): readonly Record<string, unknown>[] {
  const seed = freshSeed();
  const alarm = sampleAlarm({ event_type: "email_hacked" }, { seed });
  const other = sampleAlarm({ event_type: "email_hacked" }, { seed: freshSeed() });
  const { id, original_event_id, text } = other;
  const second = { ...alarm, id, original_event_id, text: `${text} (second)` };
  // The last one shares the dates alone.
  const { date, checked_at, created_at, updated_at } = alarm;
  const sameDates = { ...other, id: sampleAlarm().id, date, checked_at, created_at, updated_at };
  return [{ ...alarm }, second, sameDates];
}

/** An event has no id: what happens to the same site again differs in its time alone. */
function similarEvents(): readonly Record<string, unknown>[] {
  const event = sampleOnlineDataEvent("DATA_REAPPEARED", {}, { seed: freshSeed() });
  const other = sampleOnlineDataEvent("DATA_REAPPEARED", {}, { seed: freshSeed() });
  const later = new Date(Date.parse(event.occurred_at) + 86_400_000).toISOString();
  const { occurred_at } = event;
  // The gateway promises no order.
  const earlier = new Date(Date.parse(occurred_at) - 86_400_000).toISOString();
  return [
    ...[occurred_at, later, earlier].map((at) => ({ ...event, occurred_at: at })),
    { ...other, occurred_at },
  ];
}
