import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRandom } from "../../kit/random.js";
import { findPersonalData, type PersonalDataKind } from "../../kit/recorder/personal-data.js";
import { SPELLINGS, SURROUNDINGS } from "./personal-data-spellings.js";

const KINDS = Object.keys(SPELLINGS) as PersonalDataKind[];

describe("findPersonalData", () => {
  test.each(KINDS)("findPersonalData finds %s in every usual spelling and context", (kind) => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        for (const spelling of SPELLINGS[kind](createRandom(seed))) {
          for (const surround of SURROUNDINGS) {
            const text = surround(spelling);
            if (!findPersonalData(text).includes(kind)) throw new Error(`missed: ${text}`);
          }
        }
      }),
      { numRuns: 200, seed: 4 },
    );
  });

  test("findPersonalData decodes HTML character references and ignores invalid ones", () => {
    expect(findPersonalData("anna&#64;exempel.se")).toEqual(["email"]);
    expect(findPersonalData("anna&#x40;exempel.se")).toEqual(["email"]);
    expect(findPersonalData("anna&#x110000;exempel.se")).toEqual([]);
    expect(findPersonalData("&#x110000; anna&#64;exempel.se")).toEqual(["email"]);
  });

  test("findPersonalData finds the published examples", () => {
    expect(findPersonalData("811218-9876")).toContain("swedish_number");
    expect(findPersonalData("701063-2391")).toContain("swedish_number"); // samordningsnummer
    expect(findPersonalData("SE45 5000 0000 0583 9825 7466")).toContain("iban");
    expect(findPersonalData("131052-308T")).toEqual(["finnish_number"]);
    expect(findPersonalData("5555 5555 5555 4444")).toEqual(["card"]);
    expect(findPersonalData("070362-6131")).toContain("danish_number");
    expect(findPersonalData("01010750160")).toContain("norwegian_number"); // first check digit as of 2032
  });

  test.each<[string, PersonalDataKind]>([
    ["1981-12-18-9876", "swedish_number"],
    ["1981-12-18 9876", "swedish_number"],
    ["1949-10-05-2044", "swedish_number"], // 10-05-2044 is a date too
    ["01.01.2007-1234", "danish_number"],
    ["12 25 01 2007 1234", "danish_number"], // after what could be the beginning of a number
    ["0701-12-34-56", "phone"],
    ["0480-10-20-30", "phone"],
    ["+45 2012-10-20", "phone"],
    ["46 70 123 45 67", "phone"],
    ["Storgatan 1,070-123 45 67", "phone"],
    ["Tel.070-123 45 67", "phone"],
    ["tel.0046701234567", "phone"],
  ])("findPersonalData finds %s although it could contain a date", (text, kind) => {
    expect(findPersonalData(text)).toContain(kind);
  });

  test.each([
    "2026-07-08 10:00:00",
    "2026-07-08 - 2026-07-09",
    "08.07.2026-09.07.2026",
    "2026-07-08/2026-08-08 2026-09-08",
    "0701-12-30 10:00:00",
    "1.0791234567",
    "0,0791234567",
    "10:00:00 2026-07-08",
    "2026-07-08T10:00:00.123456789+02:00",
    "08.07.2026",
    "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "10101010-1010-4101-8101-010180123401",
    "v1=dc45d4a160775969ca8ddece8e1b3830b85849ac2915ab4928428795084289c0",
    "1783504805",
    "1783504805123",
    "1783504805123456",
    "0.87512345678",
    "-99999.99999",
    "+02:00",
    "99999999999999999999",
    "a @ b, @mention, user@host",
    "4111 1111 1111 1112",
    "450712-1235",
    "131052-308U",
    "SE4550000000058398257467",
    "https://example.com/a/b?c=d",
    "brdb-000001 4242",
    "",
  ])("findPersonalData finds nothing in %s", (text) => {
    expect(findPersonalData(text)).toEqual([]);
  });

  test("findPersonalData takes linear time for hostile text", () => {
    const hostile = [
      "a@",
      "9 ",
      "0701",
      "+4",
      "SE35",
      "\\\\",
      "%25",
      "&#",
      "12-",
      "0 1",
      "f",
      "12 ",
      "1,0",
      "4   ",
    ];
    const startedAt = performance.now();
    for (const part of hostile) findPersonalData(part.repeat(300_000 / part.length));
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});
