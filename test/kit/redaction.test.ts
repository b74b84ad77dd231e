import { expect, test } from "vitest";
import { ConfigurationError } from "../../src/index.js";
import { redactBody } from "../../kit/recorder/redact-body.js";
import { checkRedactionRules, type RedactionRules } from "../../kit/recorder/redaction-rules.js";
import { alarm, alarmBody } from "../support/deliveries.js";

/** The redacted text of a body. */
function redacted(body: string | Uint8Array, rules: RedactionRules = {}): string {
  const { bytes } = redactBody(Buffer.from(body), checkRedactionRules(rules));
  return Buffer.from(bytes).toString();
}

/** One redacted field of an alarm, as JSON text. */
const fieldOf = (json: string, field = "text", rules?: RedactionRules): string =>
  redacted(`{"alarm":{"${field}":${json}}}`, rules).slice(`{"alarm":{"${field}":`.length, -2);

/** The redacted text of a payload. */
const payloadOf = (payload: string, rules?: RedactionRules): string =>
  JSON.parse(fieldOf(JSON.stringify(payload), "payload", rules)) as string;

test("a redacted body keeps only documented values, dates and types", () => {
  const body = alarmBody({ account_id: "0042", text: "Åsa lost 3 €" });
  expect(JSON.parse(redacted(body))).toEqual({
    alarm: alarm({
      id: 9,
      text: "·xxxxxxxxxx•",
      account_id: "9999",
      original_event_id: "xxxxx",
      payload: '{"key0":"xxxxxxx"}',
    }),
  });
});

test.each([
  ['"Anna"', '"xxxx"'],
  ['"Åsa 王 🔒"', '"·xxx•x🔹"'],
  ['"\\u00c5sa \\ud83d\\udd10\\n\\/\\""', '"\\u00b7xxx\\ud83d\\udd39\\n\\/\\""'],
  ['"\\u0041nna"', '"\\u0078xxx"'],
  ['"\\ud800 half"', '"\\ud800xxxxx"'],
  ['"half \\udc00"', '"xxxxx\\udc00"'],
  ['"-12"', '"-99"'],
  ['"9007199254740991"', '"8999999999999999"'],
  ['"9007199254740992"', '"9999999999999999"'],
  ['"1980-01-31 10:11:12"', '"2001-02-03 04:05:06"'],
  ['"1980-01-31T10:11:12.345+02:00"', '"2001-02-03T04:05:06.000+00:00"'],
  ['"1980-02-31"', '"xxxxxxxxxx"'],
  ['"https:\\/\\/anna.se\\/x"', '"https:\\/\\/xxxxxxxxx"'],
  ['"https://"', '"xxxxxxxx"'],
  ["-0.50", "-9.99"],
  ["42.00", "99.00"],
  ["1e400", "9e400"],
  ["1.50e1", "9"],
  ["6.02e23", "9.99e23"],
  ["12e4671234567", "99e999"],
  ["123456789012345678", "999999999999999999"],
  ["true", "false"],
  ["null", "null"],
])("redaction of an alarm's text turns %s into %s", (json, expected) => {
  expect(fieldOf(json)).toBe(expected);
});

test.each([
  ["severity", '"High"', '"High"'],
  ["severity", '"\\u0048igh"', '"\\u0048igh"'],
  ["severity", '"SUCCESS"', '"XXXXXXX"'],
  ["event_type", '"passport_seen_2"', '"xxxxxxxx_xxxx_9"'],
  ["event_type", '"anna@exempel.se"', '"xxxxxxxxxxxxxxx"'],
  ["event_type", '"__proto__"', '"xxxxxxxxx"'],
  ["category_id", "7", "7"],
  ["category_id", '"7"', '"7"'],
  ["category_id", "8", "9"],
  ["created_at", '"2026-07-08T10:00:00Z"', '"2026-07-08T10:00:00Z"'],
  ["created_at", '"2026-07-08"', '"2001-02-03"'],
  ["created_at", '"2026-13-08 10:00:00"', '"xxxxxxxxxxxxxxxxxxx"'],
])("redaction of %s turns %s into %s", (field, json, expected) => {
  expect(fieldOf(json, field)).toBe(expected);
});

test("redaction keeps white space, key order, repeated keys and escaped keys", () => {
  expect(redacted('\uFEFF { "alarm" :\n{ "id":1 , "\\u0069d" : 22,"id":"333"}\t} ')).toBe(
    '\uFEFF { "alarm" :\n{ "id":9 , "\\u0069d" : 99,"id":"999"}\t} ',
  );
});

test("redaction replaces undocumented keys at every depth, and equal keys stay equal", () => {
  const body = `{"anna@exempel.se":1,"alarm":{"x":{"y":[1,{"z":2}]},"id":1,"x":"a","text":"b","anna@exempel.se":[]},"v":{}}`;
  expect(redacted(body)).toBe(
    '{"key0":9,"alarm":{"key1":{"key2":[9,{"key3":8}]},"id":9,"key1":"x","text":"a","key0":[]},"key4":{}}',
  );
});

test("redaction treats __proto__ and constructor as ordinary keys and pollutes no prototype", () => {
  expect(redacted('{"alarm":{"__proto__":{"a":"Anna"},"constructor":{"b":1},"id":1}}')).toBe(
    '{"alarm":{"key0":{"key1":"xxxx"},"key2":{"key3":9},"id":9}}',
  );
  const rules = { keepKeys: ["alarm.__proto__.a"] };
  expect(redacted('{"alarm":{"__proto__":{"a":"Anna"}}}', rules)).toBe(
    '{"alarm":{"__proto__":{"a":"xxxx"}}}',
  );
  expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
});

test.each([
  ["no JSON: Anna", "xxxxxxxxxxxxx"],
  ["0123", "xxxx"],
  ["", ""],
  [" \n", " \n"],
  ['"Anna"', '"xxxx"'],
  ["[1]", "[9]"],
])("redaction turns the body %j into %j", (body, expected) => {
  expect(redacted(body)).toBe(expected);
});

test("redaction keeps a body that is not UTF-8 invalid, byte for byte", () => {
  const { bytes, text } = redactBody(
    Buffer.from([0x41, 0xff, 0xc3, 0x28, 0x00]),
    checkRedactionRules(),
  );
  expect([...bytes]).toEqual([0x78, 0xff, 0xff, 0x78, 0x78]);
  expect(text).toBeUndefined();
});

test("redaction handles deeply nested and large bodies", () => {
  const deep = `${"[".repeat(20_000)}"Anna"${"]".repeat(20_000)}`;
  expect(fieldOf(deep)).toBe(deep.replace("Anna", "xxxx"));
  expect(payloadOf(deep)).toBe(deep.replace("Anna", "xxxx"));
  const objects = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
  expect(fieldOf(objects)).toBe(objects.replaceAll('"a"', '"key0"').replace("1", "9"));
  const large = "Å".repeat(500_000);
  expect(fieldOf(`"${large}"`)).toBe(`"${"·".repeat(500_000)}"`);
});

test("redaction keeps the first thousand elements of a list", () => {
  const list = JSON.stringify(Array.from({ length: 1_002 }, (_, index) => index));
  const { text = "", dropped } = redactBody(
    Buffer.from(`{"alarm":{"id":${list}}}`),
    checkRedactionRules(),
  );
  const { alarm: record } = JSON.parse(text) as { alarm: { id: unknown[] } };
  expect(record.id).toHaveLength(1_000);
  expect(dropped).toBe(2);
});

test.each([
  ['{"a":1}', '{"key0":9}'],
  ['[1,"Anna",null]', '[9,"xxxx",null]'],
  ['"Anna"', '"xxxx"'],
  ['"{\\"a\\":\\"Anna\\"}"', '"x\\"x\\"x\\"xxxx\\"x"'],
  ['{"a":"Ann', "xxxxxxxxx"],
  ["", ""],
  [" ", " "],
])("redaction turns the payload %j into %j", (payload, expected) => {
  expect(payloadOf(payload)).toBe(expected);
});

test("a redacted payload keeps the sender's style of escapes", () => {
  const php = '"{\\"a\\":\\"\\u00c5\\",\\"b\\":\\"x\\/y\\"}"';
  expect(fieldOf(php, "payload", { keepValues: ["alarm.payload.a", "alarm.payload.b"] })).toBe(php);
});

test("redaction keeps the payload keys that keepKeys names", () => {
  const payload = '{"breach":{"name":"Shop","by":"Anna"},"Anna B":1,"n":{"name":true}}';
  expect(payloadOf(payload, { keepKeys: ["alarm.payload.breach.name"] })).toBe(
    '{"breach":{"name":"xxxx","key0":"xxxa"},"key1":9,"key2":{"key3":false}}',
  );
});

test("redaction keeps the payload values that keepValues names, except lists and objects", () => {
  const payload = '{"breach":{"name":"Shop"},"list":["a",{"b":"c"}],"n":1.5,"years":[2019,2020]}';
  const keepValues = ["alarm.payload.breach", "alarm.payload.list.*", "alarm.payload.n"];
  expect(payloadOf(payload, { keepValues })).toBe(
    '{"breach":{"key0":"xxxx"},"list":["a",{"key1":"x"}],"n":1.5,"key2":[9999,9998]}',
  );
  expect(payloadOf(payload, { keepValues: ["alarm.payload.years.1"] })).toBe(
    '{"key0":{"key1":"xxxx"},"key2":["x",{"key3":"a"}],"key4":9.9,"years":[9999,2020]}',
  );
});

test("a * in a rule stands for an index of a list, and for no key: a key may be a person", () => {
  const payload = '{"people":{"anna@exempel.se":{"n":1}},"*":2,"list":[{"n":3}]}';
  const keepValues = ["alarm.payload.people.*.n", "alarm.payload.*", "alarm.payload.list.*.n"];
  expect(payloadOf(payload, { keepValues })).toBe(
    '{"people":{"key0":{"key1":9}},"key2":8,"list":[{"n":3}]}',
  );
});

test.each([
  [null],
  ["alarm.text"],
  [{ allow: [] }],
  [{ keepKeys: "alarm.text" }],
  [{ keepValues: ["alarm..text"] }],
  [{ keepValues: [""] }],
  [{ keepKeys: [1] }],
  [{ keepKeys: ["alarm.**.name"] }],
  [{ keepKeys: ["alarm.payload.*_at"] }],
])("redaction rules that can never apply are refused: %j", (rules) => {
  expect(() => checkRedactionRules(rules as unknown as RedactionRules)).toThrow(ConfigurationError);
});
