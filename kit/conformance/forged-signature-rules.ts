import type { ConformanceRules } from "./conformance-rule.js";
import { headerOf, SIGNATURE, withHeader } from "./request-changes.js";

const PREFIX = "v1=";
const DIGITS = 64;

type NamedDigits = readonly [name: string, digits: string];

const INCOMPLETE = [
  ["no digit", PREFIX],
  ["zeros", `${PREFIX}${"0".repeat(DIGITS)}`],
  ["the letter z for each digit", `${PREFIX}${"z".repeat(DIGITS)}`],
  ["another version", `v0=${"0".repeat(DIGITS)}`],
  ...[
    "none",
    "v1=none",
    "v0=",
    "unsigned",
    "null",
    "undefined",
    "v1=undefined",
    "true",
    "*",
    "test",
  ].map((word) => [`the text ${word}`, word] as const),
] as const;

/** A signature that is almost the right one must be refused. */
export const changedSignatureRules: ConformanceRules = {
  partial_signature: {
    title: "an incomplete or changed signature is refused",
    refuse: async ({ deliver }) => {
      const delivery = await deliver();
      const mac = headerOf(delivery, SIGNATURE).slice(PREFIX.length);
      const changed: readonly NamedDigits[] = [
        ...changedDigits(mac),
        ...otherOrders(mac),
        ["another letter case in base64", otherCaseInBase64(mac)],
      ];
      return [
        ["only 8 digits", `${PREFIX}${mac.slice(0, 8)}`] as const,
        ...INCOMPLETE,
        ["one digit too few", `${PREFIX}${mac.slice(0, -1)}`] as const,
        ...changed.map(([name, digits]) => [name, `${PREFIX}${digits}`] as const),
      ].map(([name, signature]) => [name, withHeader(delivery, SIGNATURE, signature)]);
    },
  },
};

/** Each digit by itself, since a comparison may skip any of them. */
function changedDigits(mac: string): readonly NamedDigits[] {
  return [
    ...Array.from(mac, (_, at): NamedDigits => [
      `digit ${at + 1} changed`,
      withChanged(mac, at, at + 1),
    ]),
    ["the first half changed", withChanged(mac, 0, DIGITS / 2)],
    ["the second half changed", withChanged(mac, DIGITS / 2, DIGITS)],
  ];
}

/** The same digits or the same sum in another order, for comparisons that add up or sort. */
function otherOrders(mac: string): readonly NamedDigits[] {
  const bytes = Buffer.from(mac, "hex");
  const other = bytes.findIndex((byte) => byte !== bytes[0]);
  const swapped = Buffer.from(bytes);
  [swapped[0], swapped[other]] = [bytes[other] ?? 0, bytes[0] ?? 0];
  const balanced = Buffer.from(bytes);
  const [low, high] = [
    bytes.findIndex((byte) => byte < 255),
    bytes.findLastIndex((byte) => byte > 0),
  ];
  balanced[low] = (bytes[low] ?? 0) + 1;
  balanced[high] = (bytes[high] ?? 0) - 1;
  return [
    ["two bytes swapped", swapped.toString("hex")],
    ["one byte greater and another one smaller", balanced.toString("hex")],
    ["the bytes in reverse", Buffer.from(bytes).reverse().toString("hex")],
    ["the digits in reverse", Array.from(mac).reverse().join("")],
    ["the digits sorted", Array.from(mac).sort().join("")],
  ];
}

/** Other bytes that differ only in letter case when both are written as base64. */
function otherCaseInBase64(mac: string): string {
  const text = Buffer.from(mac, "hex").toString("base64");
  const changed = text.replace(/[a-z]/i, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
  return Buffer.from(changed, "base64").toString("hex");
}

/** The digits with those between two positions changed. */
function withChanged(mac: string, from: number, to: number): string {
  return mac.replace(/./g, (digit, at: number) =>
    at >= from && at < to ? (15 - Number.parseInt(digit, 16)).toString(16) : digit,
  );
}
