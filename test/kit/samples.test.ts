import fc from "fast-check";
import { expect, it } from "vitest";
import {
  ConfigurationError,
  extraFields,
  parseAlarmPayload,
  parseGatewayTime,
  type Alarm,
  type OnlineDataEvent,
} from "../../src/index.js";
import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";
import { alarmSchema, onlineDataEventSchema } from "../../src/records/schemas.js";
import { ALARM_EVENT_TYPES, sampleAlarm } from "../../kit/samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../../kit/samples/sample-online-data-event.js";
import type { DateFormat } from "../../kit/samples/sample-options.js";
import { signedDelivery, TEST_SECRET } from "../../kit/signed-delivery.js";
import { DOCUMENTED_EVENTS, EVENT_TYPES } from "../records/documented-values.js";
import { parsed } from "../records/validated.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** How the dates of each format look. */
const FORMATS: Record<DateFormat, RegExp> = {
  legacy: /^2026-\d\d-\d\d \d\d:\d\d:\d\d$/,
  standardized: /^2026-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
};
const seeds = fc.integer({ min: 0, max: 0xffff_ffff });
const forAnySeed = (check: (seed: number) => void) => fc.assert(fc.property(seeds, check));
const formats = fc.constantFrom<DateFormat>("legacy", "standardized");

/** The outcome of a real receiver for a record, and the records that its handlers get. */
async function receivedRecord(record: { alarm: Alarm } | { event: OnlineDataEvent }) {
  const { receiver, handled } = recordingReceiver({ now: Date.now });
  const delivery = await signedDelivery({ ...record, secret: TEST_SECRET });
  const { outcome } = await receiver.receive(delivery);
  return { outcome, records: handled };
}

/** The tables of the gateway's document, with the category of each trigger. */
const DOCUMENTED_ALARMS = [
  ["email_hacked", "BreachDb", 3],
  ["phone_hacked", "BreachDb", 3],
  ["ssn_hacked", "BreachDb", 1],
  ["iban_hacked", "BreachDb", 2],
  ["credit_card_hacked", "BreachDb", 4],
  ["passport_hacked", "BreachDb", 6],
  ["drivers_license_hacked", "BreachDb", 7],
  ["domain_hacked", "BreachDb", 3],
  ["BureauIdentity", "BureauIdentity", 1],
  ["BureauCreditA", "BureauCreditA", 2],
  ["BureauCreditAConnect", "BureauCreditAConnect", 5],
  ["BureauCreditAEnquiry", "BureauCreditAEnquiry", 2],
  ["BureauCreditB", "BureauCreditB", 2],
] as const;
const ALARM_DATES = ["date", "checked_at", "created_at", "updated_at"] as const;

it("sampleAlarm supports every documented event type", () => {
  expect(ALARM_EVENT_TYPES).toEqual(DOCUMENTED_ALARMS.map(([event_type]) => event_type));
});

it.each(DOCUMENTED_ALARMS)(
  "a sample alarm %s of %s and of category %i is valid and handled, for any seed and format",
  async (event_type, source, category_id) => {
    await fc.assert(
      fc.asyncProperty(seeds, formats, async (seed, format) => {
        const alarm = sampleAlarm({ event_type }, { seed, format });
        expect(alarm).toMatchObject({ event_type, source, category_id, status: "NEW" });
        expect(["Low", "Medium", "High", "Info"]).toContain(alarm.severity);
        expect(parseAlarmPayload(alarm)).toBeTypeOf("object");
        // Compares the output too: the schema converted nothing.
        expect(parsed(alarmSchema, alarm)).toEqual(alarm);
        for (const field of ALARM_DATES) expect(alarm[field]).toMatch(FORMATS[format]);
        expect(await receivedRecord({ alarm })).toEqual({ outcome: "handled", records: [alarm] });
      }),
      { numRuns: 30 },
    );
  },
);

it("sample alarms have a payload shape per bureau and a match per breach type", () => {
  const shapes = ALARM_EVENT_TYPES.map((event_type) => {
    const payload = parseAlarmPayload(sampleAlarm({ event_type })) as { matched?: object };
    return JSON.stringify([Object.keys(payload), Object.entries(payload.matched ?? {})]);
  });
  expect(new Set(shapes).size).toBe(ALARM_EVENT_TYPES.length);
});

it("sampleAlarm gives the same alarm for the same seed and other ids for another seed", () => {
  fc.assert(
    fc.property(fc.uniqueArray(seeds, { minLength: 2, maxLength: 2 }), ([one, other]) => {
      const alarm = sampleAlarm({}, { seed: one });
      expect(sampleAlarm({}, { seed: one })).toEqual(alarm);
      const another = sampleAlarm({}, { seed: other });
      expect(another.id).not.toBe(alarm.id);
      expect(another.original_event_id).not.toBe(alarm.original_event_id);
    }),
  );
  const { id, original_event_id } = sampleAlarm({}, { seed: 0 });
  const seeded = sampleAlarm({}, { seed: 0, format: "legacy" });
  expect({ ...sampleAlarm(), id, original_event_id }).toEqual(seeded);
});

it("sampleAlarm without a seed gives each alarm an id of its own, in the range of made-up ids", () => {
  const alarms = Array.from({ length: 1_000 }, () => sampleAlarm());
  expect(new Set(alarms.map(({ id }) => id)).size).toBe(1_000);
  expect(new Set(alarms.map(({ original_event_id }) => original_event_id)).size).toBe(1_000);
  const ids = [...alarms, sampleAlarm({}, { seed: 0xffff_ffff })].flatMap((one) => [
    one.id,
    one.account_id,
  ]);
  expect(ids.filter((id) => id < 2_000_000_000 || id > 2 ** 31 - 1)).toEqual([]);
});

it("samples are about the accounts that are given, each in turn", () => {
  const accountIds = [7, 8, 9];
  const alarms = Array.from({ length: 6 }, () => sampleAlarm({}, { accountIds }).account_id);
  expect(alarms.sort()).toEqual([7, 7, 8, 8, 9, 9]);
  expect(sampleAlarm({ account_id: 1 }, { accountIds }).account_id).toBe(1);
  const event = sampleOnlineDataEvent("DATA_DELETED", {}, { accountIds: [7] });
  expect(event.account_id).toBe(7);
});

it("sampleAlarm reaches every event type through the seed", () => {
  const types = Array.from({ length: 200 }, (_, seed) => sampleAlarm({}, { seed }).event_type);
  expect(new Set(types)).toEqual(new Set(ALARM_EVENT_TYPES));
});

it("sampleAlarm gives the same times in both formats, in chronological order", () => {
  forAnySeed((seed) => {
    const times = (format: DateFormat) =>
      ALARM_DATES.map((field) => parseGatewayTime(sampleAlarm({}, { seed, format })[field]));
    const legacy = times("legacy");
    expect(legacy).toEqual(times("standardized"));
    expect(legacy).toEqual([...legacy].sort((one, other) => Number(one) - Number(other)));
  });
});

it("sampleAlarm derives the other fields from the source or the category", () => {
  fc.assert(
    fc.property(fc.constantFrom(...DOCUMENTED_ALARMS), seeds, ([, source, category], seed) => {
      const documented = DOCUMENTED_ALARMS.map((row) => row.join());
      const rowOf = (alarm: Alarm) => [alarm.event_type, alarm.source, alarm.category_id].join();
      const ofSource = sampleAlarm({ source }, { seed });
      expect(ofSource.source).toBe(source);
      expect(documented).toContain(rowOf(ofSource));
      const ofCategory = sampleAlarm({ category_id: category }, { seed });
      expect(ofCategory.category_id).toBe(category);
      expect(documented).toContain(rowOf(ofCategory));
    }),
  );
});

it("sampleAlarm keeps overrides that contradict each other or are not documented", () => {
  const given = { event_type: "iban_hacked", source: "BureauIdentity", status: "CLOSED", id: 7 };
  expect(sampleAlarm(given)).toMatchObject({ ...given, category_id: 2 });
  expect(sampleAlarm({ source: "BureauCreditA", category_id: 7 })).toMatchObject({
    event_type: "BureauCreditA",
    category_id: 7,
  });
  expect(sampleAlarm({ event_type: "wallet_hacked" })).toMatchObject({
    event_type: "wallet_hacked",
    source: "BreachDb",
  });
  for (const named of [{ event_type: "BureauCreditC" }, { source: "BureauCreditC" }]) {
    expect(sampleAlarm(named)).toMatchObject({
      event_type: "BureauCreditC",
      source: "BureauCreditC",
    });
  }
  const added = { event_type: "email_hacked", risk_score: 0.5 };
  expect(extraFields(sampleAlarm(added))).toEqual({ risk_score: 0.5 });
});

it.each([
  ["email_hacked", /^person\.\d+@example\.com$/],
  ["phone_hacked", /^\+46701740(60[5-9]|6[1-9]\d)$/],
  ["ssn_hacked", /^(19)?0[0-]+$/],
  ["iban_hacked", /^[A-Z]{2}00/],
  ["credit_card_hacked", /^(4242424242424242|4111111111111111|5555555555554444)$/],
  ["passport_hacked", /^XX000000\d$/],
  ["drivers_license_hacked", /^TEST-\d{6}$/],
  ["domain_hacked", /^example\.org$/],
])("a sample alarm %s matches only reserved test values", (event_type, reserved) => {
  forAnySeed((seed) => {
    const alarm = sampleAlarm({ event_type }, { seed });
    expect(parseAlarmPayload(alarm)).toMatchObject({
      matched: { value: expect.stringMatching(reserved) as unknown },
    });
  });
});

it.each(["BureauIdentity", "BureauCreditA", "BureauCreditAEnquiry", "BureauCreditB"])(
  "a sample alarm of %s names no real person",
  (source) => {
    forAnySeed((seed) => {
      expect(parseAlarmPayload(sampleAlarm({ source }, { seed }))).toMatchObject({
        subject: { national_id: expect.stringMatching(/^(19)?0[0-]+$/) as unknown },
      });
    });
  },
);

it("sampleAlarm checks the types of overrides", () => {
  // @ts-expect-error an id is a number
  expect(sampleAlarm({ id: "1" }).id).toBe("1");
});

it.each<[string, object]>([
  ["a seed that is not a whole number", { seed: 1.5 }],
  ["a seed beyond 32 bits", { seed: 2 ** 32 }],
  ["an unknown format", { format: "iso" as DateFormat }],
  ["a misspelt option", { seeed: 1 }],
  ["an account that is no whole number", { accountIds: ["7"] }],
])("sampleAlarm refuses %s", (_, options) => {
  expect(() => sampleAlarm({}, options)).toThrow(ConfigurationError);
});

it("sampleOnlineDataEvent supports every documented type", () => {
  expect(ONLINE_DATA_EVENT_TYPES).toEqual(EVENT_TYPES);
});

it.each(DOCUMENTED_EVENTS)("a sample %s of severity %s is handled", async (type, severity) => {
  await fc.assert(
    fc.asyncProperty(seeds, fc.option(formats, { nil: undefined }), async (seed, format) => {
      const event = sampleOnlineDataEvent(type, {}, { seed, format });
      expect(event).toMatchObject({ type, severity });
      const siteFields = [event.site_id, event.site_name, event.site_base_url];
      expect(siteFields.filter((field) => field === null)).toHaveLength(
        type === "POWER_OF_ATTORNEY_SIGNED" ? 3 : 0,
      );
      expect(parsed(onlineDataEventSchema, event)).toEqual(event);
      expect(await receivedRecord({ event })).toEqual({ outcome: "handled", records: [event] });
    }),
    { numRuns: 30 },
  );
});

it("sampleOnlineDataEvent gives the same time in every format, by default with the documented offset", () => {
  forAnySeed((seed) => {
    const at = (format?: DateFormat) =>
      sampleOnlineDataEvent("DATA_DELETED", {}, { seed, format }).occurred_at;
    expect(at()).toMatch(/^2026-\d\d-\d\dT\d\d:\d\d:\d\d\+02:00$/);
    for (const format of ["legacy", "standardized"] as const) {
      expect(at(format)).toMatch(FORMATS[format]);
      expect(parseGatewayTime(at(format))).toEqual(parseGatewayTime(at()));
    }
  });
});

it("sampleOnlineDataEvent gives the same event for the same seed and another for another seed", () => {
  const event = sampleOnlineDataEvent("DATA_REAPPEARED", {}, { seed: 3 });
  expect(sampleOnlineDataEvent("DATA_REAPPEARED", {}, { seed: 3 })).toEqual(event);
  const another = sampleOnlineDataEvent("DATA_REAPPEARED", {}, { seed: 4 });
  expect(another.account_id).not.toBe(event.account_id);
});

it("sampleOnlineDataEvent without a seed gives each event a time of its own", () => {
  const times = Array.from({ length: 100 }, () => sampleOnlineDataEvent("DATA_DELETED"));
  expect(new Set(times.map(({ occurred_at }) => occurred_at)).size).toBe(100);
});

it("sampleOnlineDataEvent checks overrides against the fields of the type", () => {
  const event = sampleOnlineDataEvent("DATA_REAPPEARED", { site_id: 9, account_id: 42 });
  const site: number = event.site_id;
  expect([site, event.account_id]).toEqual([9, 42]);
  const signed = sampleOnlineDataEvent("POWER_OF_ATTORNEY_SIGNED");
  const none: null = signed.site_id;
  expect(none).toBeNull();
  // @ts-expect-error a site event has a site
  expect(sampleOnlineDataEvent("DATA_REAPPEARED", { site_id: null }).site_id).toBeNull();
});

it("sampleOnlineDataEvent refuses an undocumented type and a misspelt option", () => {
  const undocumented = "SCAN_SCHEDULED" as "DATA_DELETED";
  expect(() => sampleOnlineDataEvent(undocumented)).toThrow(ConfigurationError);
  expect(() => sampleOnlineDataEvent("DATA_DELETED", {}, { seeed: 1 } as object)).toThrow(
    ConfigurationError,
  );
});
