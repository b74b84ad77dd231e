import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseGatewayTime } from "../../src/index.js";

test.each([
  ["the legacy format, as UTC", "2026-07-08 10:00:00", "2026-07-08T10:00:00.000Z"],
  ["the standardized format", "2026-07-08T10:00:00Z", "2026-07-08T10:00:00.000Z"],
  ["an offset to the east", "2026-07-08T10:00:00+02:00", "2026-07-08T08:00:00.000Z"],
  ["an offset with minutes", "2026-07-08T10:00:00+05:45", "2026-07-08T04:15:00.000Z"],
  ["a western offset with minutes", "2026-07-08T10:00:00-03:30", "2026-07-08T13:30:00.000Z"],
  ["an offset without a colon", "2026-07-08T10:00:00+0200", "2026-07-08T08:00:00.000Z"],
  ["an offset across midnight and year", "2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z"],
  ["lower-case letters, as RFC 3339 allows", "2026-07-08t10:00:00z", "2026-07-08T10:00:00.000Z"],
  ["a T without a zone, as UTC", "2026-07-08T10:00:00", "2026-07-08T10:00:00.000Z"],
  ["a space with a zone", "2026-07-08 10:00:00+02:00", "2026-07-08T08:00:00.000Z"],
  ["microseconds, cut", "2026-07-08T10:00:00.123999Z", "2026-07-08T10:00:00.123Z"],
  ["nanoseconds, cut", "2026-07-08T10:00:00.999999999Z", "2026-07-08T10:00:00.999Z"],
  ["29 February of a leap year", "2028-02-29 00:00:00", "2028-02-29T00:00:00.000Z"],
  ["the first century", "0044-03-15 12:00:00", "0044-03-15T12:00:00.000Z"],
  ["the year 0", "0000-01-01 00:00:00", "0000-01-01T00:00:00.000Z"],
])("parseGatewayTime reads %s", (_, text, expected) => {
  expect(parseGatewayTime(text).toISOString()).toBe(expected);
});

test("as a property, parseGatewayTime reads any time in both formats and at any offset", () => {
  const times = fc.date({
    min: new Date("0001-01-02T00:00:00Z"),
    max: new Date("9999-12-30T00:00:00Z"),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(times, fc.integer({ min: -1_439, max: 1_439 }), (time, offsetMinutes) => {
      const iso = time.toISOString();
      expect(parseGatewayTime(iso)).toEqual(time);
      expect(parseGatewayTime(iso.replace("T", " ").replace("Z", ""))).toEqual(time);
      const local = new Date(time.getTime() + offsetMinutes * 60_000).toISOString();
      const hours = String(Math.floor(Math.abs(offsetMinutes) / 60)).padStart(2, "0");
      const minutes = String(Math.abs(offsetMinutes) % 60).padStart(2, "0");
      const zone = `${offsetMinutes < 0 ? "-" : "+"}${hours}:${minutes}`;
      expect(parseGatewayTime(local.replace("Z", zone))).toEqual(time);
    }),
    { seed: 20_260_708, numRuns: 500 },
  );
});

test("the result of parseGatewayTime does not depend on the machine's time zone", () => {
  const zone = process.env["TZ"];
  try {
    for (const other of ["America/New_York", "Asia/Kolkata", "Pacific/Apia"]) {
      process.env["TZ"] = other;
      // 02:30 on that day does not exist in New York.
      expect(parseGatewayTime("2026-03-08 02:30:00").getTime()).toBe(1_772_937_000_000);
    }
  } finally {
    if (zone === undefined) delete process.env["TZ"];
    else process.env["TZ"] = zone;
  }
});

test.each([
  "",
  "2026-07-08",
  "2026-07-08 10:00",
  "2026-7-8 10:00:00",
  "12026-07-08 10:00:00",
  "2026-07-08  10:00:00",
  "2026-07-08 10:00:00\n",
  "2026-07-08T10:00:00.Z",
  "2026-07-08T10:00:00.1234567890Z",
  "2026-07-08T10:00:00+02",
  "2026-07-08T10:00:00Z+02:00",
  "2026-07-08T10:00:00+24:00",
  "2026-07-08T10:00:00+02:60",
  "2026-00-08 10:00:00",
  "2026-13-08 10:00:00",
  "2026-07-00 10:00:00",
  "2026-07-32 10:00:00",
  "2026-02-29 10:00:00",
  "1900-02-29 10:00:00",
  "2028-02-30 10:00:00",
  "2026-07-08 24:00:00",
  "2026-07-08 10:60:00",
  "2026-07-08 10:00:60",
  "２０２６-07-08 10:00:00",
  "-2026-07-08 10:00:00",
])("parseGatewayTime refuses %j with a code", (text) => {
  expect(() => parseGatewayTime(text)).toThrow(
    expect.objectContaining({ code: "invalid_gateway_time" }),
  );
});

test.each<[unknown]>([[undefined], [1_783_504_800_000], [["2026-07-08 10:00:00"]]])(
  "parseGatewayTime refuses a value that is not text with a code: %j",
  (value) => {
    expect(() => parseGatewayTime(value as string)).toThrow(
      expect.objectContaining({ code: "invalid_gateway_time" }),
    );
  },
);

test("the error of parseGatewayTime does not repeat the text", () => {
  for (const text of ["19121212-1212", "1912-12-12 12:12:99"]) {
    expect(() => parseGatewayTime(text)).toThrow(/^not a gateway time: (?!.*12)/);
  }
});

test("parseGatewayTime refuses a long text without delay", () => {
  expect(() => parseGatewayTime(`2026-07-08 10:00:00.${"1".repeat(1_000_000)}`)).toThrow(
    /^not a gateway time/,
  );
});
