import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import type { DeliveryIssue } from "../../src/records/decoded.js";
import {
  alarmSchema,
  deleteMyDataEventSchema,
  newAlarmSchema,
  onlineDataEventSchema,
} from "../../src/records/schemas.js";
import type { StandardSchema } from "../../src/records/standard-schema.js";
import { alarm, delivery, onlineDataEvent } from "../support/deliveries.js";
import { EVENT_TYPES } from "./documented-values.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { judged, parsed } from "./validated.js";

test("alarmSchema converts without changing its input", () => {
  const sent = alarm({ account_id: "42", original_event_id: 9, added: "x" });
  const before = structuredClone(sent);
  expect(parsed(alarmSchema, sent)).toEqual({ ...sent, account_id: 42, original_event_id: "9" });
  expect(sent).toEqual(before);
});

test.each([null, [], "alarm", undefined])("alarmSchema refuses %j", (value) => {
  expect(judged(alarmSchema, value).issues).toEqual([{ path: [], message: "expected an object" }]);
});

test("newAlarmSchema accepts the body of an alarm and keeps its other fields", () => {
  const body = { alarm: alarm({ id: "5" }), added: true };
  expect(parsed(newAlarmSchema, body)).toEqual({ alarm: alarm({ id: 5 }), added: true });
});

test("onlineDataEventSchema accepts an unknown type with and without a site", () => {
  const event = onlineDataEvent("DATA_MOVED", NO_SITE);
  expect(parsed(onlineDataEventSchema, event)).toEqual(event);
  const some = onlineDataEvent("DATA_MOVED", { ...NO_SITE, site_id: "7" });
  expect(parsed(onlineDataEventSchema, some)).toEqual({ ...some, site_id: 7 });
});

test("onlineDataEventSchema converts a number in the event's type to its digits", () => {
  const event = onlineDataEvent("DATA_MOVED", { type: 12 });
  expect(parsed(onlineDataEventSchema, event)).toEqual({ ...event, type: "12" });
});

test("deleteMyDataEventSchema accepts the body of an event and keeps its other fields", () => {
  const body = { event: onlineDataEvent("DATA_DELETED", { site_id: "7" }), added: true };
  const event = onlineDataEvent("DATA_DELETED");
  expect(parsed(deleteMyDataEventSchema, body)).toEqual({ event, added: true });
});

test.each<[string, StandardSchema<unknown>, object]>([
  ["newAlarmSchema", newAlarmSchema, { event: onlineDataEvent("DATA_DELETED") }],
  ["deleteMyDataEventSchema", deleteMyDataEventSchema, { alarm: alarm() }],
])("%s refuses the body of the other kind, an empty one and null", (_, schema, other) => {
  for (const body of [other, {}, null]) expect(judged(schema, body).issues).not.toEqual([]);
});

const NO_SITE = { site_id: null, site_name: null, site_base_url: null };
const UNDEFINED_SITE = { site_id: undefined, site_name: undefined, site_base_url: undefined };
const SITE_REQUIRED = [
  "site_id: expected an integer",
  "site_name: expected a string",
  "site_base_url: expected a string",
];

describe("each issue of an event names its field", () => {
  test.each<[string, Record<string, unknown>, readonly string[]]>([
    ["DATA_DELETED", { site_id: "x" }, ["site_id: expected an integer"]],
    ["DATA_DELETED", { occurred_at: null }, ["occurred_at: expected a string"]],
    ["DATA_REAPPEARED", NO_SITE, SITE_REQUIRED],
    ["DATA_REAPPEARED", UNDEFINED_SITE, SITE_REQUIRED],
    [
      "POWER_OF_ATTORNEY_SIGNED",
      { site_id: 7, site_name: "Example", site_base_url: "https://broker.example" },
      ["site_id: expected null", "site_name: expected null", "site_base_url: expected null"],
    ],
    ["POWER_OF_ATTORNEY_SIGNED", { site_id: undefined }, ["site_id: expected null"]],
    ["DATA_MOVED", { account_id: null, site_name: 5 }, ["account_id: expected an integer"]],
    [
      "DATA_DELETED",
      { type: null, severity: [] },
      ["type: expected a string", "severity: expected a string"],
    ],
  ])("an event of type %s with %j", (type, changes, expected) => {
    const event = onlineDataEvent(type, changes);
    const places = (schema: StandardSchema<unknown>, value: unknown) =>
      judged(schema, value).issues?.map(({ path, message }) => `${path.join(".")}: ${message}`);
    expect(places(onlineDataEventSchema, event)).toEqual(expected);
    expect(places(deleteMyDataEventSchema, { event })).toEqual(
      expected.map((issue) => `event.${issue}`),
    );
  });

  test.each([null, [], "text", undefined])("an event that is %j", (event) => {
    const message = "expected an object";
    expect(judged(onlineDataEventSchema, event).issues).toEqual([{ path: [], message }]);
    expect(judged(deleteMyDataEventSchema, { event }).issues).toEqual([
      { path: ["event"], message },
    ]);
  });
});

test.each([
  ["alarmSchema", alarmSchema, alarm()],
  ["onlineDataEventSchema", onlineDataEventSchema, onlineDataEvent("DATA_DELETED")],
  ["newAlarmSchema", newAlarmSchema, { alarm: alarm() }],
  ["deleteMyDataEventSchema", deleteMyDataEventSchema, { event: onlineDataEvent("DATA_DELETED") }],
] as const)("%s of /schemas is a synchronous Standard Schema", (_, schema, value) => {
  const { version, vendor, validate } = schema["~standard"];
  expect({ version, vendor }).toEqual({ version: 1, vendor: "zod" });
  expect(validate(value)).toEqual({ value });
  expect(validate({})).toHaveProperty("issues.0.message");
});

test("zod's process-wide messages, which may quote values, do not appear in issues", () => {
  const before = z.config().customError;
  z.config({ customError: ({ input }) => `bad value ${JSON.stringify(input)}` });
  try {
    const records = ["CANARY", null, [], alarm({ id: "CANARY", text: ["CANARY"] })];
    const events = ["CANARY", onlineDataEvent("DATA_DELETED", { site_id: "CANARY" })];
    const odd = [{ type: ["CANARY"] }, { type: "NEW", severity: ["CANARY"], site_name: {} }];
    const issues = [
      ...records.map((record) => judged(newAlarmSchema, { alarm: record }).issues),
      ...[...events, ...odd].map((event) => judged(deleteMyDataEventSchema, { event }).issues),
    ];
    const messages = issues.flatMap((found) => found?.map(({ message }) => message));
    expect(messages.length).toBeGreaterThanOrEqual(issues.length);
    for (const message of messages) expect(message).toMatch(/^expected an? [a-z]+$/);
  } finally {
    z.config({ customError: before });
  }
});

// The receiver decodes by a loop of its own and `/schemas` by zod, both from one table. These tests compare
// `receive` with the public schemas.

/** The types of events, documented or not. */
const ALL_EVENTS = [...EVENT_TYPES, "DATA_MOVED", "data_deleted", "", "__proto__", "constructor"];

/**
 * Values of a field as JSON text, because a parsed number may differ from the number in the text.
 */
const ODD_VALUES = String.raw`
  null | true | false | [] | {} | [5] | ["x"] | {"length":1} | {"toString":"x"} | 0 |
  -0 | 5 | -5 | 1.5 | 1e3 | 1e21 | 1e400 | 5.0 | 1e-7 | 9007199254740991 |
  -9007199254740991 | 9007199254740992 | -9007199254740993 | "" | "x" | "5" | "-5" |
  "007" | "-0" | "+5" | " 5" | "5\n" | "1e3" | "1.5" | "9007199254740991" |
  "9007199254740992" | "12345678901234567890" | "\uff15" | "null"
`
  .split("|")
  .map((value) => value.trim());

type Fields = Readonly<Record<string, string>>;

/** Each field of a record as JSON text. */
function textsOf(record: object): Fields {
  const fields = Object.entries(record) as [string, unknown][];
  return Object.fromEntries(fields.map(([name, value]) => [name, JSON.stringify(value)]));
}

/** The record with these JSON texts. A field that is undefined is left out. */
function jsonOf(fields: Readonly<Record<string, string | undefined>>): string {
  const members = Object.entries(fields).flatMap(([name, text]) =>
    text === undefined ? [] : [`${JSON.stringify(name)}:${text}`],
  );
  return `{${members.join(",")}}`;
}

/** The fields of a record in their order, or the issues of the record. */
interface Judgement {
  readonly record?: [string, unknown][];
  readonly issues?: readonly DeliveryIssue[];
}

const judgements: Judgement[] = [];
const record = (value: object) => {
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  judgements.push({ record: Object.entries(value) });
};
const { receive } = recordingReceiver({
  handlers: {
    new_alarm: record,
    delete_my_data_event: record,
    unrecognized: ({ issues }) => judgements.push({ issues }),
  },
});
let sent = 0;

/** The result of `receive` for a body. */
async function received(type: string, body: string): Promise<Judgement | undefined> {
  const request = await delivery({ id: `judged-${String(sent++)}`, type, body });
  expect((await receive(request)).outcome).toBe("handled");
  expect(judgements).toHaveLength(1);
  return judgements.pop();
}

/** The result of `/schemas` for a body. Unknown fields are as sent: the output of zod lacks `__proto__`. */
function validated(type: string, body: string): Judgement {
  const [owner, schema]: [string, StandardSchema<object>] =
    type === "new_alarm" ? ["alarm", newAlarmSchema] : ["event", deleteMyDataEventSchema];
  const given = JSON.parse(body) as Readonly<Record<string, object>>;
  const { value, issues } = judged(schema, given);
  if (issues !== undefined) return { issues };
  const output = new Map<string, unknown>(
    Object.entries(Reflect.get(value ?? {}, owner) as object),
  );
  const record = Object.entries(given[owner] ?? {}).map(
    ([name, as]: [string, unknown]): [string, unknown] => [
      name,
      output.has(name) ? output.get(name) : as,
    ],
  );
  return { record };
}

/**
 * Fails if `receive` and the schemas disagree about a body. Returns whether the body was accepted.
 */
async function expectAsValidated(type: string, body: string) {
  const expected = validated(type, body);
  expect(await received(type, body), body).toStrictEqual(expected);
  return expected.issues === undefined;
}

const fields = textsOf(alarm());

test.each(Object.keys(fields))(
  "the alarm field %s is accepted or refused as the schema decides",
  async (field) => {
    const taken: (string | undefined)[] = [];
    for (const text of [undefined, ...ODD_VALUES]) {
      const body = `{"alarm":${jsonOf({ ...fields, [field]: text })}}`;
      if (await expectAsValidated("new_alarm", body)) taken.push(text);
    }
    // Some values are accepted; a missing value and null are not.
    expect(taken).toContain('"007"');
    expect(taken).not.toContain(undefined);
    expect(taken).not.toContain("null");
  },
);

// One of each kind: the property below draws from all types.
const KINDS = ["DATA_DELETED", "POWER_OF_ATTORNEY_SIGNED", "DATA_MOVED", "__proto__"];

describe.each(KINDS)("each field of an event of type %j", (type) => {
  const fields = textsOf(onlineDataEvent(type));

  test.each(Object.keys(fields))(
    `the field %s of an event of type "${type}" is accepted or refused as the schema decides`,
    async (field) => {
      for (const text of [undefined, ...ODD_VALUES]) {
        const body = `{"event":${jsonOf({ ...fields, [field]: text })}}`;
        await expectAsValidated("delete_my_data_event", body);
      }
    },
  );

  test(`the type "${type}" replaced by any other is accepted or refused as the schema decides`, async () => {
    const none = { site_id: "null", site_name: "null", site_base_url: "null" };
    for (const other of ALL_EVENTS) {
      for (const site of [{}, none, { site_id: "null" }, { site_name: "null" }]) {
        const body = `{"event":${jsonOf({ ...fields, type: JSON.stringify(other), ...site })}}`;
        await expectAsValidated("delete_my_data_event", body);
      }
    }
  });
});

test.each(ODD_VALUES)("a record that is %s is refused, as the schema refuses it", async (text) => {
  expect(await expectAsValidated("new_alarm", jsonOf({ alarm: text }))).toBe(false);
  expect(await expectAsValidated("delete_my_data_event", jsonOf({ event: text }))).toBe(false);
});

const settings = { seed: 20_260_708, numRuns: 300 };
const odd = fc.option(fc.constantFrom(...ODD_VALUES), { nil: undefined });
const unknown = fc.dictionary(
  fc.constantFrom("__proto__", "constructor", "toString", "added", "0", "Id", "site"),
  fc.constantFrom(...ODD_VALUES, '{"id":5}'),
  { maxKeys: 3 },
);

/** The text of a record with up to three odd fields and some unknown fields. */
function recordLike(fields: Fields) {
  const changes = fc.dictionary(fc.constantFrom(...Object.keys(fields)), odd, { maxKeys: 3 });
  return fc
    .tuple(changes, unknown, fc.boolean())
    .map(([changed, added, first]) =>
      jsonOf(
        Object.fromEntries([
          ...(first ? Object.entries(added) : []),
          ...Object.entries({ ...fields, ...changed }),
          ...(first ? [] : Object.entries(added)),
        ]),
      ),
    );
}

const alarms = recordLike(textsOf(alarm()));
const events = fc
  .constantFrom(...ALL_EVENTS)
  .chain((type) => recordLike(textsOf(onlineDataEvent(type))));

test.each([
  ["alarms", "new_alarm", "alarm", alarms],
  ["events", "delete_my_data_event", "event", events],
] as const)(
  "as a property, %s of any shape are accepted or refused as the schema decides",
  async (_, type, owner, records) => {
    await fc.assert(
      fc.asyncProperty(records, async (text) => {
        await expectAsValidated(type, `{"${owner}":${text}}`);
      }),
      settings,
    );
  },
);
