import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRandom, type Random } from "../../src/testing/random.js";
import {
  findPersonalData,
  type PersonalDataKind,
} from "../../src/testing/recorder/personal-data.js";
import {
  cardNumber,
  cpr,
  fodselsnummer,
  hetu,
  iban,
  personnummer,
  phone,
} from "../support/synthetic-numbers.js";

const inGroups = (text: string, separator: string, size = 4): string =>
  (text.match(new RegExp(`.{1,${String(size)}}`, "g")) ?? []).join(separator);

/** Ways in which each kind is written. */
const SPELLINGS: Record<PersonalDataKind, (random: Random) => readonly string[]> = {
  email: (random) => {
    const local = random.pick(["anna", "anna.b-svensson", "a_b+tag", "åsa", "o'neil", '"a b"']);
    const domain = random.pick(["exempel.se", "mail.exempel.co.uk", "exämpel.se", "a-b.io"]);
    const address = `${local}@${domain}`;
    return [address, address.toUpperCase(), `<${address}>`, `mailto:${address}`, `x:${address},y`];
  },
  phone: (random) => {
    const { code, digits } = phone(random);
    const pairs = inGroups(digits, " ", 2);
    return [
      `+${code}${digits}`,
      `+${code} ${digits}`,
      `+${code}-${inGroups(digits, "-", 3)}`,
      `+${code} (0)${pairs}`,
      `00${code}${digits}`,
      `00 ${code} ${pairs}`,
      `${code}${digits}`,
      ...(code === "46" || code === "358"
        ? [`0${digits}`, `0${digits.slice(0, 2)}-${inGroups(digits.slice(2), " ", 3)}`]
        : [pairs]),
    ];
  },
  iban: (random) => {
    const number = iban(random);
    const grouped = inGroups(number, " ");
    return [number, grouped, number.toLowerCase(), inGroups(number, "-"), `${grouped} is it`];
  },
  swedish_number: (random) => {
    const { century, birth, end } = personnummer(random);
    return [
      `${birth}-${end}`,
      `${birth}+${end}`,
      `${birth}${end}`,
      `${birth} ${end}`,
      `${century}${birth}-${end}`,
      `${century}${birth}${end}`,
      `${birth}\u2013${end}`,
      `SE${birth}${end}01`,
    ];
  },
  norwegian_number: (random) => {
    const { birth, end } = fodselsnummer(random);
    return [birth + end, `${birth} ${end}`, `${birth}-${end}`, `${birth} ${inGroups(end, " ", 3)}`];
  },
  danish_number: (random) => {
    const { birth, end } = cpr(random);
    return [`${birth}-${end}`, `${birth}${end}`, `${birth} ${end}`, `${birth} - ${end}`];
  },
  finnish_number: (random) => {
    const number = hetu(random);
    return [number, number.toLowerCase(), `${number.slice(0, 6)} ${number.slice(6)}`];
  },
  card: (random) => {
    const number = cardNumber(random);
    return [number, inGroups(number, " "), inGroups(number, "-"), `${inGroups(number, " ")} 12 29`];
  },
};

/** What may stand around a number, and may not hide it. */
const SURROUNDINGS = [
  (text: string) => text,
  (text: string) => `found: ${text}.`,
  (text: string) => `id 12 ${text} on 2026-07-08 10:00:00`,
  (text: string) => `(${text})`,
  (text: string) => `förnamn\t${text}\n`,
  (text: string) => JSON.stringify({ payload: JSON.stringify({ value: text, at: "2026-07-08" }) }),
  (text: string) =>
    text.replace(/[^a-z]/gi, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`),
  (text: string) => `https://exempel.se/?q=${encodeURIComponent(text)}`,
  (text: string) => Array.from(text, (c) => `&#${String(c.codePointAt(0))};`).join(""),
  (text: string) => text.replace(/[0-9]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)),
];

const KINDS = Object.keys(SPELLINGS) as PersonalDataKind[];

describe("findPersonalData", () => {
  test.each(KINDS)("finds %s in every usual spelling and surrounding", (kind) => {
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

  test("knows the published examples", () => {
    expect(findPersonalData("811218-9876")).toContain("swedish_number");
    expect(findPersonalData("701063-2391")).toContain("swedish_number"); // samordningsnummer
    expect(findPersonalData("SE45 5000 0000 0583 9825 7466")).toContain("iban");
    expect(findPersonalData("131052-308T")).toEqual(["finnish_number"]);
    expect(findPersonalData("5555 5555 5555 4444")).toEqual(["card"]);
    expect(findPersonalData("070362-6131")).toContain("danish_number");
    expect(findPersonalData("01010750160")).toContain("norwegian_number"); // first check digit of 2032
  });

  test.each([
    "2026-07-08 10:00:00",
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
  ])("finds nothing in %s", (text) => {
    expect(findPersonalData(text)).toEqual([]);
  });

  test("is linear in hostile text", () => {
    const hostile = ["a@", "9 ", "0701", "+4", "SE35", "\\\\", "%25", "&#", "12-", "0 1", "f"];
    const startedAt = performance.now();
    for (const part of hostile) findPersonalData(part.repeat(300_000 / part.length));
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});
