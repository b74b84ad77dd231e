import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  alarm,
  alarmBody,
  delivery,
  eventDelivery,
  onlineDataEvent,
} from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { BUREAUS, EVENT_TYPES, HACKED_ITEMS } from "./documented-values.js";

const INTEGER_FIELDS = ["id", "account_id", "category_id"];
const TEXT_FIELDS = Object.keys(alarm()).filter((field) => !INTEGER_FIELDS.includes(field));

/** The outcome of a request, and the records that the handlers received. */
async function receive(request: ReturnType<typeof delivery>) {
  const { receive, handled } = recordingReceiver();
  const { outcome } = await receive(await request);
  return { outcome, handled };
}

const receiveAlarm = (changes: Record<string, unknown>) =>
  receive(delivery({ body: alarmBody(changes) }));

/** An alarm with a field as JSON text, so that no number is rounded before it is sent. */
function receiveAlarmText(field: string, json: string) {
  const marked = alarmBody({ [field]: "@@" });
  return receive(delivery({ body: marked.replace('"@@"', () => json) }));
}

const REFUSED = { outcome: "unrecognized", handled: [] };

test.each<Record<string, unknown>>([
  ...HACKED_ITEMS.map((item) => ({ event_type: `${item}_hacked` })),
  ...BUREAUS.map((source) => ({ source, event_type: source })),
  ...["Low", "Medium", "High", "Info"].map((severity) => ({ severity })),
  // Values that the gateway may add later.
  ...["severity", "status", "source", "event_type"].map((field) => ({ [field]: "Added2030" })),
  { category_id: 8, date: "2026-07-08T10:00:00Z", checked_at: "" },
  { risk: { score: 0.25, tags: ["a", null] }, is_test: 1, id2: "007" },
  { text: "Ålarm – тест – 警报 – 🔐 – \ud83d" },
])("an alarm with %j reaches its handler as it was sent", async (changes) => {
  const expected = { outcome: "handled", handled: [alarm(changes)] };
  expect(await receiveAlarm(changes)).toEqual(expected);
});

test.each([
  ...EVENT_TYPES.map((type) => [type, {}] as const),
  ["DATA_DELETED", { severity: "CRITICAL" }] as const,
])("an event of type %s with %j reaches its handler as it was sent", async (type, event) => {
  const expected = { outcome: "handled", handled: [onlineDataEvent(type, event)] };
  expect(await receive(eventDelivery(type, { event }))).toEqual(expected);
});

test("an unknown field beside the alarm in the body passes", async () => {
  const body = JSON.stringify({ version: 2, alarm: alarm() });
  expect((await receive(delivery({ body }))).handled).toEqual([alarm()]);
});

test.each<[string, string, unknown]>([
  ...INTEGER_FIELDS.map((field): [string, string, number] => [field, '"17"', 17]),
  ["account_id", '"0"', 0],
  ["account_id", '"007"', 7],
  ["account_id", '"9007199254740991"', Number.MAX_SAFE_INTEGER],
  ["account_id", '"-9007199254740991"', Number.MIN_SAFE_INTEGER],
  ...TEXT_FIELDS.map((field): [string, string, string] => [field, "17", "17"]),
  ["original_event_id", "0", "0"],
  ["original_event_id", "1.5", "1.5"],
  ["original_event_id", "9007199254740991", "9007199254740991"],
])("the field %s is converted from %s to %j", async (field, json, value) => {
  const { handled } = await receiveAlarmText(field, json);
  expect(handled).toEqual([alarm({ [field]: value })]);
});

test("every field of an event is converted", async () => {
  const event = { account_id: "42", client_id: 9, site_id: "7", site_name: 8, occurred_at: 1 };
  const { handled } = await receive(eventDelivery("DATA_DELETED", { event }));
  const converted = { client_id: "9", site_name: "8", occurred_at: "1" };
  expect(handled).toEqual([onlineDataEvent("DATA_DELETED", converted)]);
});

test("as a property, every safe integer is converted as a number or as digits, in both kinds of field", async () => {
  await fc.assert(
    fc.asyncProperty(fc.maxSafeInteger(), async (number) => {
      const sent = { account_id: String(number), original_event_id: number };
      expect((await receiveAlarm(sent)).handled).toEqual([
        alarm({ account_id: number, original_event_id: String(number) }),
      ]);
    }),
    { seed: 20_260_708, numRuns: 100 },
  );
});

const numbers = "12345678901234567890 9007199254740992 -9007199254740993 1e400 -1e400 1e21";
test.each([...numbers.split(" "), "true", "null", "[]", "{}", '["a"]'])(
  "a text field refuses %s",
  async (json) => {
    expect(await receiveAlarmText("original_event_id", json)).toEqual(REFUSED);
  },
);

const texts = '"9007199254740992" "12345678901234567890" "1.0" "1e3" "0x10" "+1" "" "\uff11"';
test.each([...texts.split(" "), '" 1"', '"1 "', "9007199254740993", "1.5", "null", "[1]"])(
  "an integer field refuses %s",
  async (json) => {
    expect(await receiveAlarmText("account_id", json)).toEqual(REFUSED);
  },
);
