import type { Random } from "../../kit/random.js";
import type { PersonalDataKind } from "../../kit/recorder/personal-data.js";
import {
  cardNumber,
  cpr,
  fodselsnummer,
  hetu,
  iban,
  personnummer,
  phone,
} from "../support/testing/synthetic-numbers.js";

const inGroups = (text: string, separator: string, size = 4): string =>
  (text.match(new RegExp(`.{1,${String(size)}}`, "g")) ?? []).join(separator);

/** A six-digit birth date with a four-digit year. */
const dated = (birth: string, century: string, separator = "."): string =>
  [birth.slice(0, 2), birth.slice(2, 4), century + birth.slice(4)].join(separator);

/** The ways in which each kind is written. */
export const SPELLINGS: Record<PersonalDataKind, (random: Random) => readonly string[]> = {
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
      `${code} ${pairs}`,
      ...(code === "46" || code === "358"
        ? [`0${digits}`, `0${digits.slice(0, 2)}-${inGroups(digits.slice(2), " ", 3)}`]
        : [pairs]),
    ];
  },
  iban: (random) => {
    const number = iban(random);
    const grouped = inGroups(number, " ");
    return [
      number,
      grouped,
      number.toLowerCase(),
      `${grouped} is it`,
      `IBAN${number}`,
      ...["-", "_", " - ", "\n"].map((separator) => inGroups(number, separator)),
    ];
  },
  swedish_number: (random) => {
    const { century, birth, end } = personnummer(random);
    const parts = (separator: string): string => century + inGroups(birth, separator, 2);
    return [
      ...["-", ".", "/", " "].flatMap((separator) => [
        `${parts(separator)}-${end}`,
        `${parts(separator)} ${end}`,
        `${inGroups(birth, separator, 2)} - ${end}`,
      ]),
      `${parts("-")}${end}`,
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
    return [
      birth + end,
      `${birth} ${end}`,
      `${birth}-${end}`,
      `${birth} ${inGroups(end, " ", 3)}`,
      `${inGroups(birth, ".", 2)} ${end}`,
      `${dated(birth, "20")} ${end}`,
    ];
  },
  danish_number: (random) => {
    const { birth, end } = cpr(random);
    return [
      `${birth}-${end}`,
      `${birth}${end}`,
      `${birth} ${end}`,
      `${birth} - ${end}`,
      ...["-", ".", "/", " "].map((separator) => `${inGroups(birth, separator, 2)}-${end}`),
      `${dated(birth, "19")}-${end}`,
      `${dated(birth, "20", "-")} ${end}`,
    ];
  },
  finnish_number: (random) => {
    const number = hetu(random);
    const birth = number.slice(0, 6);
    const end = number.slice(6);
    return [number, number.toLowerCase(), `${birth} ${end}`, dated(birth, "19") + end];
  },
  card: (random) => {
    const number = cardNumber(random);
    return [
      number,
      `${inGroups(number, " ")} 12 29`,
      ...[" ", "-", "  ", " - ", "\n", "_"].map((separator) => inGroups(number, separator)),
    ];
  },
};

/** Texts around a number that must not hide it. */
export const SURROUNDINGS = [
  (text: string) => text,
  (text: string) => `found: ${text}.`,
  (text: string) => `id 12 ${text} on 2026-07-08 10:00:00`,
  (text: string) => `(${text})`,
  (text: string) => `Anna,${text},Stockholm`,
  (text: string) => `Tel.${text}`,
  (text: string) => `born 2026-07-08 - 2026-07-09, ${text}`,
  (text: string) => `förnamn\t${text}\n`,
  (text: string) => JSON.stringify({ payload: JSON.stringify({ value: text, at: "2026-07-08" }) }),
  (text: string) =>
    text.replace(/[^a-z]/gi, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`),
  (text: string) => `https://exempel.se/?q=${encodeURIComponent(text)}`,
  (text: string) => Array.from(text, (c) => `&#${String(c.codePointAt(0))};`).join(""),
  (text: string) => text.replace(/[0-9]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)),
];
