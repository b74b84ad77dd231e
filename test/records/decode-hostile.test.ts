import { describe, expect, test } from "vitest";
import type { Alarm, UnrecognizedDelivery } from "../../src/index.js";
import { alarm, delivery, onlineDataEvent } from "../support/deliveries.js";
import { rawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const UNRECOGNIZED = { status: 503, outcome: "unrecognized" };
const ALARM_BYTES = new TextEncoder().encode(JSON.stringify({ alarm: alarm() }));
const BOM = [0xef, 0xbb, 0xbf];

describe("a body that is no JSON text in UTF-8 is unrecognized", () => {
  test.each<[string, string | readonly number[]]>([
    ["nothing", ""],
    ["white space", " \n"],
    ["a form", "alarm=1&text=a"],
    ["XML", "<alarm/>"],
    ["half of it", '{"alarm":{"id":1,'],
    ["two documents", "{}{}"],
    ["single quotes", "{'alarm':{}}"],
    ["NaN", '{"alarm":NaN}'],
    ["a comment", "{}//"],
    ["a trailing comma", '{"alarm":{},}'],
    ["a NUL behind it", "{}\0"],
    ["two byte order marks", [...BOM, ...BOM, ...ALARM_BYTES]],
    ["a byte that is no UTF-8", [...ALARM_BYTES.slice(0, 20), 0xff, ...ALARM_BYTES.slice(20)]],
    ["an overlong form", [0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]],
    ["an encoded surrogate", [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ["a character that is cut off at the end", [...ALARM_BYTES, 0xe2, 0x82]],
    ["UTF-16", [...Buffer.from('{"alarm":{}}', "utf16le")]],
    ["a gzip stream", [0x1f, 0x8b, 0x08, 0x00]],
  ])("%s", async (_, sent) => {
    const body = typeof sent === "string" ? sent : Uint8Array.from(sent);
    const { receive, handled } = recordingReceiver();
    expect(await receive(await delivery({ body }))).toMatchObject(UNRECOGNIZED);
    expect(handled).toEqual([]);
    // A decoder that is shared must not keep a byte of it.
    expect((await receive(await delivery({ id: "next", body: ALARM_BYTES }))).outcome).toBe(
      "handled",
    );
    expect(handled).toEqual([alarm()]);
  });

  test.each(["null", "true", "5", '"alarm"', "[]", "[[]]", "{}", '{"Alarm":{}}', '{"alarms":[]}'])(
    "JSON without alarm or event: %s",
    async (body) => {
      const { receive, handled } = recordingReceiver();
      expect(await receive(await delivery({ body }))).toMatchObject(UNRECOGNIZED);
      expect(handled).toEqual([]);
    },
  );

  test.each(["null", "[]", "5", '"{}"', "true", "[{}]"])("%s as the alarm", async (json) => {
    const { receive, handled } = recordingReceiver();
    const body = `{"alarm":${json}}`;
    expect(await receive(await delivery({ body }))).toMatchObject(UNRECOGNIZED);
    expect(handled).toEqual([]);
  });
});

test("one leading byte order mark is tolerated", async () => {
  const { receive, handled } = recordingReceiver();
  const body = Uint8Array.from([...BOM, ...ALARM_BYTES]);
  expect((await receive(await delivery({ body }))).outcome).toBe("handled");
  expect(handled).toEqual([alarm()]);
});

test.each(["new_alarm", "delete_my_data_event", "added_later"])(
  "a body with both an alarm and an event is unrecognized under the type %s",
  async (type) => {
    const { receive, handled } = recordingReceiver();
    const body = JSON.stringify({ alarm: alarm(), event: onlineDataEvent("DATA_DELETED") });
    expect(await receive(await delivery({ type, body }))).toMatchObject(UNRECOGNIZED);
    expect(handled).toEqual([]);
  },
);

describe("the type header, which nobody signed, must agree with the body", () => {
  const alarmBody = JSON.stringify({ alarm: alarm() });
  const eventBody = JSON.stringify({ event: onlineDataEvent("DATA_DELETED") });

  test.each([
    ["an alarm as an event", "delete_my_data_event", alarmBody],
    ["an event as an alarm", "new_alarm", eventBody],
    ["an alarm as an unknown type", "added_later", alarmBody],
    ["an event as an unknown type", "added_later", eventBody],
    ["a broken alarm as an event", "delete_my_data_event", '{"alarm":null}'],
  ])("%s", async (_, type, body) => {
    const taken: unknown[] = [];
    const take = (one: unknown) => taken.push(one);
    const { receive } = recordingReceiver({
      handlers: { new_alarm: take, delete_my_data_event: take, unrecognized: take },
    });
    const answer = await receive(await delivery({ type, body }));
    expect(answer).toMatchObject({ status: 409, outcome: "type_mismatch" });
    expect(taken).toEqual([]);
  });

  test("and a flipped one leaves the genuine delivery untouched", async () => {
    const { receive, handled } = recordingReceiver();
    const genuine = await delivery();
    await receive({
      ...genuine,
      headers: { ...genuine.headers, "x-webhook-type": "delete_my_data_event" },
    });
    expect((await receive(genuine)).outcome).toBe("handled");
    expect(handled).toEqual([alarm()]);
  });
});

describe("__proto__ is an ordinary key", () => {
  const poisoned = (record: object) =>
    `{"__proto__":{"outer":1},${JSON.stringify({ alarm: record }).slice(1)}`.replace(
      '"id":1',
      '"id":1,"__proto__":{"polluted":true,"account_id":666},"constructor":{"prototype":{"polluted":true}}',
    );

  test("that stays on the record, and pollutes nothing", async () => {
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

  test("whose fields do not stand in for missing ones", async () => {
    const { account_id, ...incomplete } = alarm();
    const { receive, handled } = recordingReceiver();
    expect(account_id).toBe(42);
    expect(await receive(rawDelivery({ body: poisoned(incomplete) }))).toMatchObject(UNRECOGNIZED);
    expect(handled).toEqual([]);
  });

  test("behind which no alarm is found", async () => {
    const { receive, handled } = recordingReceiver();
    const body = `{"__proto__":${JSON.stringify({ alarm: alarm() })}}`;
    expect(await receive(rawDelivery({ body }))).toMatchObject(UNRECOGNIZED);
    expect(handled).toEqual([]);
  });
});

describe("100 000 levels of nesting crash nothing", () => {
  const LEVELS = 100_000;
  const lists = "[".repeat(LEVELS) + "]".repeat(LEVELS);
  const objects = '{"a":'.repeat(LEVELS) + "1" + "}".repeat(LEVELS);

  test.each([
    ["lists", lists],
    ["objects", objects],
  ])("%s in an unknown field are handed on", async (_, json) => {
    const { receive, handled } = recordingReceiver();
    const body = JSON.stringify({ alarm: alarm({ deep: "@@" }) }).replace('"@@"', json);
    expect((await receive(rawDelivery({ body }))).outcome).toBe("handled");
    expect(depthOf((handled[0] as { deep: unknown }).deep)).toBe(LEVELS);
  });

  test.each([
    ["lists as the body", lists],
    ["objects as the body", objects],
    ["lists as the alarm", `{"alarm":${lists}}`],
    [
      "objects in a documented field",
      JSON.stringify({ alarm: alarm({ text: "@@" }) }).replace('"@@"', objects),
    ],
    ["lists that never end", "[".repeat(LEVELS)],
  ])("%s are unrecognized", async (_, body) => {
    const taken: UnrecognizedDelivery[] = [];
    const silent = recordingReceiver();
    expect(await silent.receive(rawDelivery({ body }))).toMatchObject(UNRECOGNIZED);
    const taking = recordingReceiver({ handlers: { unrecognized: (one) => taken.push(one) } });
    expect((await taking.receive(rawDelivery({ body }))).outcome).toBe("handled");
    expect(taken).toHaveLength(1);
  });
});

/** How deep the first members go, counted without recursion. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let at = value; typeof at === "object" && at !== null; depth++) at = Object.values(at)[0];
  return depth;
}
