import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationError, parseGatewayTime } from "../../src/index.js";
import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";
import { onlineDataEventSchema } from "../../src/records/schemas.js";
import { sampleOnlineDataEvent } from "../../kit/samples/sample-online-data-event.js";
import type { DateFormat } from "../../kit/samples/sample-options.js";
import { parsed } from "../records/validated.js";
import { FORMATS, formats, receivedRecord, seeds } from "./received-record.js";

/** The table of the gateway's document. */
const DOCUMENTED_EVENTS = [
  ["DELETION_REQUEST_SENT", "SUCCESS"],
  ["USER_MANUAL_INSTRUCTIONS_SENT", "INFO"],
  ["DATA_DELETED", "SUCCESS"],
  ["DATA_REAPPEARED", "WARNING"],
  ["PERSONAL_DATA_FOUND", "WARNING"],
  ["PERSONAL_DATA_NOT_FOUND", "SUCCESS"],
  ["POWER_OF_ATTORNEY_SIGNED", "SUCCESS"],
] as const;

describe("sampleOnlineDataEvent", () => {
  it("sampleOnlineDataEvent supports every documented type", () => {
    expect(ONLINE_DATA_EVENT_TYPES).toEqual(DOCUMENTED_EVENTS.map(([type]) => type));
  });

  it.each(DOCUMENTED_EVENTS)(
    "a sample event %s has severity %s and is handled",
    async (type, severity) => {
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
    },
  );

  it("sampleOnlineDataEvent gives the same time in every format, by default with the documented offset", () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const at = (format?: DateFormat) =>
          sampleOnlineDataEvent("DATA_DELETED", {}, { seed, format }).occurred_at;
        expect(at()).toMatch(/^2026-\d\d-\d\dT\d\d:\d\d:\d\d\+02:00$/);
        for (const format of ["legacy", "standardized"] as const) {
          expect(at(format)).toMatch(FORMATS[format]);
          expect(parseGatewayTime(at(format))).toEqual(parseGatewayTime(at()));
        }
      }),
    );
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
});
