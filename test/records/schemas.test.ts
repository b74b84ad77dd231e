import { describe, expect, test } from "vitest";
import {
  alarmSchema,
  deleteMyDataEventSchema,
  newAlarmSchema,
  onlineDataEventSchema,
} from "../../src/records/schemas.js";
import * as standardSchemas from "../../src/records/standard-schemas.js";
import { alarm, onlineDataEvent } from "../support/deliveries.js";

describe("alarmSchema", () => {
  test("alarmSchema returns a documented alarm unchanged", () => {
    expect(alarmSchema.parse(alarm())).toEqual(alarm());
  });

  test("alarmSchema converts without changing its input", () => {
    const sent = alarm({ account_id: "42", original_event_id: 9, added: "x" });
    const before = structuredClone(sent);
    expect(alarmSchema.parse(sent)).toEqual({ ...sent, account_id: 42, original_event_id: "9" });
    expect(sent).toEqual(before);
  });

  test.each(Object.keys(alarm()))("alarmSchema requires the field %s", (field) => {
    const others = Object.entries(alarm()).filter(([name]) => name !== field);
    const result = alarmSchema.safeParse(Object.fromEntries(others));
    expect(result.error?.issues.map(({ path }) => path)).toEqual([[field]]);
  });

  test.each([null, [], "alarm", undefined])("alarmSchema refuses %j", (value) => {
    expect(alarmSchema.safeParse(value).success).toBe(false);
    expect(() => alarmSchema.parse(value)).toThrow();
  });
});

describe("newAlarmSchema", () => {
  test("newAlarmSchema accepts the body of an alarm and keeps its other fields", () => {
    const body = { alarm: alarm({ id: "5" }), added: true };
    expect(newAlarmSchema.parse(body)).toEqual({ alarm: alarm({ id: 5 }), added: true });
  });

  test.each([{}, { alarm: null }, { event: onlineDataEvent("DATA_DELETED") }, null])(
    "newAlarmSchema refuses %j",
    (body) => {
      expect(newAlarmSchema.safeParse(body).success).toBe(false);
    },
  );
});

describe("onlineDataEventSchema", () => {
  test.each(["DATA_DELETED", "POWER_OF_ATTORNEY_SIGNED", "DATA_MOVED", "__proto__"])(
    "onlineDataEventSchema returns an event of type %s unchanged",
    (type) => {
      expect(onlineDataEventSchema.parse(onlineDataEvent(type))).toEqual(onlineDataEvent(type));
    },
  );

  test.each(["site_id", "site_name", "site_base_url"])(
    "onlineDataEventSchema requires %s on a site event",
    (field) => {
      for (const missing of [null, undefined]) {
        const event = onlineDataEvent("PERSONAL_DATA_FOUND", { [field]: missing });
        expect(onlineDataEventSchema.safeParse(event).success).toBe(false);
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
    expect(onlineDataEventSchema.safeParse(event).success).toBe(false);
  });

  test("onlineDataEventSchema accepts an unknown type with and without a site", () => {
    const none = { site_id: null, site_name: null, site_base_url: null };
    const event = onlineDataEvent("DATA_MOVED", none);
    expect(onlineDataEventSchema.parse(event)).toEqual(event);
    const some = onlineDataEvent("DATA_MOVED", { ...none, site_id: "7" });
    expect(onlineDataEventSchema.parse(some)).toEqual({ ...some, site_id: 7 });
  });

  test("onlineDataEventSchema converts a number in the event's type to its digits", () => {
    const event = onlineDataEvent("DATA_MOVED", { type: 12 });
    expect(onlineDataEventSchema.parse(event)).toEqual({ ...event, type: "12" });
  });
});

describe("deleteMyDataEventSchema", () => {
  test("deleteMyDataEventSchema accepts the body of an event and keeps its other fields", () => {
    const body = { event: onlineDataEvent("DATA_DELETED", { site_id: "7" }), added: true };
    expect(deleteMyDataEventSchema.parse(body)).toEqual({
      event: onlineDataEvent("DATA_DELETED"),
      added: true,
    });
  });

  test.each([{}, { event: {} }, { alarm: alarm() }, null])(
    "deleteMyDataEventSchema refuses %j",
    (body) => {
      expect(deleteMyDataEventSchema.safeParse(body).success).toBe(false);
    },
  );
});

test.each([
  ["alarmSchema", alarm()],
  ["onlineDataEventSchema", onlineDataEvent("DATA_DELETED")],
  ["newAlarmSchema", { alarm: alarm() }],
  ["deleteMyDataEventSchema", { event: onlineDataEvent("DATA_DELETED") }],
] as const)("%s of /schemas is a synchronous Standard Schema", (name, value) => {
  const { version, vendor, validate } = standardSchemas[name]["~standard"];
  expect({ version, vendor }).toEqual({ version: 1, vendor: "zod" });
  expect(validate(value)).toEqual({ value });
  expect(validate({})).toHaveProperty("issues.0.message");
});
