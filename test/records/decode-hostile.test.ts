import { expect, test } from "vitest";
import type { Alarm, UnrecognizedDelivery, WebhookRequest } from "../../src/index.js";
import { alarm, alarmBody, delivery, onlineDataEvent } from "../support/deliveries.js";
import { rawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const UNRECOGNIZED = { status: 503, outcome: "unrecognized" };
const ALARM_BYTES = new TextEncoder().encode(alarmBody());
const BOM = [0xef, 0xbb, 0xbf];

/** A good alarm with these bytes inside of its text. */
function inText(...bytes: readonly number[]): readonly number[] {
  const [before = "", after = ""] = alarmBody({ text: "|" }).split("|");
  return [...Buffer.from(before), ...bytes, ...Buffer.from(after)];
}

/** Expects that a request is unrecognized and reaches no handler. */
async function expectUnrecognized(request: WebhookRequest) {
  const recording = recordingReceiver();
  expect(await recording.receive(request)).toMatchObject(UNRECOGNIZED);
  expect(recording.handled).toEqual([]);
  return recording;
}

test.each<[string, string | readonly number[]]>([
  ["nothing", ""],
  ["a form", "alarm=1&text=a"],
  ["two documents", "{}{}"],
  ["a trailing comma", '{"alarm":{},}'],
  ["a NUL at the end", "{}\0"],
  ["two byte order marks", [...BOM, ...BOM, ...ALARM_BYTES]],
  ["a byte that is not UTF-8", inText(0xff)],
  ["an encoded surrogate", inText(0xed, 0xa0, 0x80)],
  ["a cut-off character at the end", [...ALARM_BYTES, 0xe2, 0x82]],
])("a body that is not JSON in UTF-8 is unrecognized: %s", async (_, sent) => {
  const body = typeof sent === "string" ? sent : Uint8Array.from(sent);
  const { receive, handled } = await expectUnrecognized(await delivery({ body }));
  // The decoder is shared and must keep no byte of this body.
  expect((await receive(await delivery({ id: "next", body: ALARM_BYTES }))).outcome).toBe(
    "handled",
  );
  expect(handled).toEqual([alarm()]);
});

test.each(["true", '"alarm"', "[[]]", "{}", '{"Alarm":{}}', '{"alarm":[{}]}'])(
  "a JSON body without an alarm or event is unrecognized: %s",
  async (body) => {
    await expectUnrecognized(await delivery({ body }));
  },
);

test("one leading byte order mark is tolerated", async () => {
  const { receive, handled } = recordingReceiver();
  const body = Uint8Array.from([...BOM, ...ALARM_BYTES]);
  expect((await receive(await delivery({ body }))).outcome).toBe("handled");
  expect(handled).toEqual([alarm()]);
});

test.each(["new_alarm", "delete_my_data_event", "added_later"])(
  "a body with both an alarm and an event is unrecognized under the type %s",
  async (type) => {
    const body = JSON.stringify({ alarm: alarm(), event: onlineDataEvent("DATA_DELETED") });
    await expectUnrecognized(await delivery({ type, body }));
  },
);

const eventBody = JSON.stringify({ event: onlineDataEvent("DATA_DELETED") });

test.each([
  ["an alarm as an event", "delete_my_data_event", alarmBody()],
  ["an event as an alarm", "new_alarm", eventBody],
  ["an alarm as an unknown type", "added_later", alarmBody()],
  ["an event as an unknown type", "added_later", eventBody],
  ["a broken alarm as an event", "delete_my_data_event", '{"alarm":null}'],
])("the unsigned type header must agree with the body: %s", async (_, type, body) => {
  const taken: unknown[] = [];
  const take = (one: unknown) => taken.push(one);
  const { receive } = recordingReceiver({
    handlers: { new_alarm: take, delete_my_data_event: take, unrecognized: take },
  });
  const answer = await receive(await delivery({ type, body }));
  expect(answer).toMatchObject({ status: 409, outcome: "type_mismatch" });
  expect(taken).toEqual([]);
});

test("a redelivery with another type header does not affect the genuine delivery", async () => {
  const { receive, handled } = recordingReceiver();
  const genuine = await delivery();
  const headers = { ...genuine.headers, "x-webhook-type": "delete_my_data_event" };
  await receive({ ...genuine, headers });
  expect((await receive(genuine)).outcome).toBe("handled");
  expect(handled).toEqual([alarm()]);
});

const poisoned = (record: object) =>
  `{"__proto__":{"outer":1},${JSON.stringify({ alarm: record }).slice(1)}`.replace(
    '"id":1',
    '"id":1,"__proto__":{"polluted":true,"account_id":666},"constructor":{"prototype":{"polluted":true}}',
  );

test("__proto__ stays on the record as an ordinary key and pollutes no prototype", async () => {
  const { receive, handled } = recordingReceiver();
  expect((await receive(rawDelivery({ body: poisoned(alarm()) }))).outcome).toBe("handled");
  const record = handled[0] as Alarm & { polluted?: unknown };
  expect(Object.getOwnPropertyDescriptor(record, "__proto__")?.value).toEqual({
    polluted: true,
    account_id: 666,
  });
  expect(Object.getPrototypeOf(record)).toBe(Object.prototype);
  expect(record.account_id).toBe(42);
  expect(record.polluted).toBeUndefined();
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  expect(({} as { outer?: unknown }).outer).toBeUndefined();
});

test.each([
  [
    "fields under __proto__ do not replace missing fields",
    poisoned(alarm({ account_id: undefined })),
  ],
  [
    "an alarm under the key __proto__ is not found",
    `{"__proto__":{"alarm":${JSON.stringify(alarm())}}}`,
  ],
])("%s", async (_, body) => {
  await expectUnrecognized(rawDelivery({ body }));
});

const LEVELS = 100_000;
const lists = "[".repeat(LEVELS) + "]".repeat(LEVELS);
const objects = '{"a":'.repeat(LEVELS) + "1" + "}".repeat(LEVELS);

test.each([
  ["lists", lists],
  ["objects", objects],
])("100 000 levels of %s in an unknown field reach the handler", async (_, json) => {
  const { receive, handled } = recordingReceiver();
  const body = alarmBody({ deep: "@@" }).replace('"@@"', json);
  expect((await receive(rawDelivery({ body }))).outcome).toBe("handled");
  expect(depthOf((handled[0] as { deep: unknown }).deep)).toBe(LEVELS);
});

test.each([
  ["objects as the body", objects],
  ["lists as the alarm", `{"alarm":${lists}}`],
  ["objects in a documented field", alarmBody({ text: "@@" }).replace('"@@"', objects)],
  ["lists without an end", "[".repeat(LEVELS)],
])("100 000 levels of nesting are unrecognized and crash nothing: %s", async (_, body) => {
  const taken: UnrecognizedDelivery[] = [];
  const silent = recordingReceiver();
  expect(await silent.receive(rawDelivery({ body }))).toMatchObject(UNRECOGNIZED);
  const taking = recordingReceiver({ handlers: { unrecognized: (one) => taken.push(one) } });
  expect((await taking.receive(rawDelivery({ body }))).outcome).toBe("handled");
  expect(taken).toHaveLength(1);
});

/** The depth of the first members, counted without recursion. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let at = value; typeof at === "object" && at !== null; depth++) at = Object.values(at)[0];
  return depth;
}
