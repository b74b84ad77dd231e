import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import {
  alarmSchema,
  deleteMyDataEventSchema,
  newAlarmSchema,
  onlineDataEventSchema,
} from "../../src/records/schemas.js";
import { alarm, onlineDataEvent } from "../support/deliveries.js";
import type { StandardSchema } from "../../src/records/standard-schema.js";
import { judged, parsed } from "./validated.js";

describe("alarmSchema", () => {
  test("alarmSchema returns a documented alarm unchanged", () => {
    expect(parsed(alarmSchema, alarm())).toEqual(alarm());
  });

  test("alarmSchema converts without changing its input", () => {
    const sent = alarm({ account_id: "42", original_event_id: 9, added: "x" });
    const before = structuredClone(sent);
    expect(parsed(alarmSchema, sent)).toEqual({ ...sent, account_id: 42, original_event_id: "9" });
    expect(sent).toEqual(before);
  });

  test.each(Object.keys(alarm()))("alarmSchema requires the field %s", (field) => {
    const others = Object.entries(alarm()).filter(([name]) => name !== field);
    const { issues } = judged(alarmSchema, Object.fromEntries(others));
    expect(issues?.map(({ path }) => path)).toEqual([[field]]);
  });

  test.each([null, [], "alarm", undefined])("alarmSchema refuses %j", (value) => {
    expect(judged(alarmSchema, value).issues).toEqual([
      { path: [], message: "expected an object" },
    ]);
  });
});

describe("newAlarmSchema", () => {
  test("newAlarmSchema accepts the body of an alarm and keeps its other fields", () => {
    const body = { alarm: alarm({ id: "5" }), added: true };
    expect(parsed(newAlarmSchema, body)).toEqual({ alarm: alarm({ id: 5 }), added: true });
  });

  test.each([{}, { alarm: null }, { event: onlineDataEvent("DATA_DELETED") }, null])(
    "newAlarmSchema refuses %j",
    (body) => {
      expect(judged(newAlarmSchema, body).issues).not.toEqual([]);
    },
  );
});

describe("onlineDataEventSchema", () => {
  test.each(["DATA_DELETED", "POWER_OF_ATTORNEY_SIGNED", "DATA_MOVED", "__proto__"])(
    "onlineDataEventSchema returns an event of type %s unchanged",
    (type) => {
      expect(parsed(onlineDataEventSchema, onlineDataEvent(type))).toEqual(onlineDataEvent(type));
    },
  );

  test.each(["site_id", "site_name", "site_base_url"])(
    "onlineDataEventSchema requires %s on a site event",
    (field) => {
      for (const missing of [null, undefined]) {
        const event = onlineDataEvent("PERSONAL_DATA_FOUND", { [field]: missing });
        expect(judged(onlineDataEventSchema, event).issues).not.toEqual([]);
      }
    },
  );

  test.each([
    { site_id: 7 },
    { site_name: "Example Broker" },
    { site_base_url: "https://broker.example" },
    { site_id: undefined },
  ])("onlineDataEventSchema requires null on an event without a site, not %j", (site) => {
    const event = onlineDataEvent("POWER_OF_ATTORNEY_SIGNED", site);
    expect(judged(onlineDataEventSchema, event).issues).not.toEqual([]);
  });

  test("onlineDataEventSchema accepts an unknown type with and without a site", () => {
    const none = { site_id: null, site_name: null, site_base_url: null };
    const event = onlineDataEvent("DATA_MOVED", none);
    expect(parsed(onlineDataEventSchema, event)).toEqual(event);
    const some = onlineDataEvent("DATA_MOVED", { ...none, site_id: "7" });
    expect(parsed(onlineDataEventSchema, some)).toEqual({ ...some, site_id: 7 });
  });

  test("onlineDataEventSchema converts a number in the event's type to its digits", () => {
    const event = onlineDataEvent("DATA_MOVED", { type: 12 });
    expect(parsed(onlineDataEventSchema, event)).toEqual({ ...event, type: "12" });
  });
});

describe("deleteMyDataEventSchema", () => {
  test("deleteMyDataEventSchema accepts the body of an event and keeps its other fields", () => {
    const body = { event: onlineDataEvent("DATA_DELETED", { site_id: "7" }), added: true };
    expect(parsed(deleteMyDataEventSchema, body)).toEqual({
      event: onlineDataEvent("DATA_DELETED"),
      added: true,
    });
  });

  test.each([{}, { event: {} }, { alarm: alarm() }, null])(
    "deleteMyDataEventSchema refuses %j",
    (body) => {
      expect(judged(deleteMyDataEventSchema, body).issues).not.toEqual([]);
    },
  );
});

describe("each issue of an event names its field", () => {
  test.each<[string, Record<string, unknown>, readonly string[]]>([
    ["DATA_DELETED", { site_id: "x" }, ["site_id: expected an integer"]],
    ["DATA_DELETED", { site_name: null }, ["site_name: expected a string"]],
    ["POWER_OF_ATTORNEY_SIGNED", { site_id: 7 }, ["site_id: expected null"]],
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
