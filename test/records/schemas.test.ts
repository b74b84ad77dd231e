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
  test("gives back a documented alarm", () => {
    expect(alarmSchema.parse(alarm())).toEqual(alarm());
  });

  test("converts without touching what it was given", () => {
    const sent = alarm({ account_id: "42", original_event_id: 9, added: "x" });
    const copy = structuredClone(sent);
    expect(alarmSchema.parse(sent)).toEqual({ ...sent, account_id: 42, original_event_id: "9" });
    expect(sent).toEqual(copy);
  });

  test.each(Object.keys(alarm()))("wants %s", (field) => {
    const others = Object.entries(alarm()).filter(([name]) => name !== field);
    const result = alarmSchema.safeParse(Object.fromEntries(others));
    expect(result.error?.issues.map(({ path }) => path)).toEqual([[field]]);
  });

  test.each([null, [], "alarm", undefined])("refuses %j", (value) => {
    expect(alarmSchema.safeParse(value).success).toBe(false);
    expect(() => alarmSchema.parse(value)).toThrow();
  });
});

describe("newAlarmSchema", () => {
  test("is the body of an alarm, whose other fields stay", () => {
    const body = { alarm: alarm({ id: "5" }), added: true };
    expect(newAlarmSchema.parse(body)).toEqual({ alarm: alarm({ id: 5 }), added: true });
  });

  test.each([{}, { alarm: null }, { event: onlineDataEvent("DATA_DELETED") }, null])(
    "refuses %j",
    (body) => {
      expect(newAlarmSchema.safeParse(body).success).toBe(false);
    },
  );
});

describe("onlineDataEventSchema", () => {
  test.each(["DATA_DELETED", "POWER_OF_ATTORNEY_SIGNED", "DATA_MOVED", "__proto__"])(
    "gives back an event of type %s",
    (type) => {
      expect(onlineDataEventSchema.parse(onlineDataEvent(type))).toEqual(onlineDataEvent(type));
    },
  );

  test.each(["site_id", "site_name", "site_base_url"])(
    "wants %s where there is a site",
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
  ])("wants null where there is none, not %j", (site) => {
    const event = onlineDataEvent("POWER_OF_ATTORNEY_SIGNED", site);
    expect(onlineDataEventSchema.safeParse(event).success).toBe(false);
  });

  test("takes either of an unknown type", () => {
    const none = { site_id: null, site_name: null, site_base_url: null };
    const event = onlineDataEvent("DATA_MOVED", none);
    expect(onlineDataEventSchema.parse(event)).toEqual(event);
    const some = onlineDataEvent("DATA_MOVED", { ...none, site_id: "7" });
    expect(onlineDataEventSchema.parse(some)).toEqual({ ...some, site_id: 7 });
  });

  test("takes a number for the type of an event as its digits", () => {
    const event = onlineDataEvent("DATA_MOVED", { type: 12 });
    expect(onlineDataEventSchema.parse(event)).toEqual({ ...event, type: "12" });
  });
});

describe("deleteMyDataEventSchema", () => {
  test("is the body of an event, whose other fields stay", () => {
    const body = { event: onlineDataEvent("DATA_DELETED", { site_id: "7" }), added: true };
    expect(deleteMyDataEventSchema.parse(body)).toEqual({
      event: onlineDataEvent("DATA_DELETED"),
      added: true,
    });
  });

  test.each([{}, { event: {} }, { alarm: alarm() }, null])("refuses %j", (body) => {
    expect(deleteMyDataEventSchema.safeParse(body).success).toBe(false);
  });
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
