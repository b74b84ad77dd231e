import type { ConformanceRules } from "./conformance-rule.js";
import {
  headerOf,
  ID,
  SIGNATURE,
  signedWith,
  TIMESTAMP,
  TYPE,
  withHeader,
} from "./request-changes.js";
import { each } from "./test-deliveries.js";
import { missingHeaders } from "./unverifiable-requests.js";

const HEX = "0123456789abcdef".repeat(4);

/** Invalid values of each header. */
const MALFORMED: readonly (readonly [name: string, value: string])[] = [
  [ID, ""],
  [ID, "a:b"],
  [ID, "a b"],
  [ID, "a,b"],
  [ID, "é"],
  [ID, "../../etc/passwd"],
  [ID, "__proto__"],
  [ID, "x".repeat(129)],
  [ID, "x".repeat(4_000)],
  [TIMESTAMP, ""],
  [TIMESTAMP, "-1760000000"],
  [TIMESTAMP, "1.76e9"],
  [TIMESTAMP, "0x68e77800"],
  [TIMESTAMP, "1760000000000"],
  [TIMESTAMP, "NaN"],
  [TIMESTAMP, "2026-07-08T10:00:00Z"],
  [SIGNATURE, HEX],
  [SIGNATURE, `v1=${HEX.slice(1)}`],
  [SIGNATURE, `v1=${HEX}0`],
  [SIGNATURE, `v1=${HEX.slice(1)}g`],
  [SIGNATURE, `v2=${HEX}`],
  [SIGNATURE, `V1=${HEX}`],
  [SIGNATURE, `v1= ${HEX}`],
  [SIGNATURE, "é".repeat(67)],
];

/** Malformed headers that are close to right ones, in Unix seconds. */
function malformedAt(seconds: number): readonly (readonly [name: string, value: string])[] {
  const time = String(seconds);
  return [
    [ID, ""],
    [ID, "a:b"],
    [ID, "x".repeat(4_000)],
    [TIMESTAMP, ""],
    [TIMESTAMP, "NaN"],
    [TIMESTAMP, `-${time}`],
    [TIMESTAMP, `+${time}`],
    [TIMESTAMP, `${time}.5`],
    [TIMESTAMP, `${time}abc`],
    [TIMESTAMP, `${time}e0`],
    [TIMESTAMP, `${time}000`],
    [TIMESTAMP, `0x${seconds.toString(16)}`],
    [TIMESTAMP, new Date(seconds * 1_000).toISOString()],
  ];
}

const GRAMMAR_FIX =
  "Accept only an id of `[0-9A-Za-z._-]`, a timestamp of digits, and a signature of `v1=` and 64 hexadecimal digits.";
const NAMES = [ID, TIMESTAMP, TYPE, SIGNATURE];

/** A request with missing, malformed or ambiguous webhook headers must be refused. */
export const headerRules: ConformanceRules = {
  missing_headers: {
    title: "a delivery without its id or timestamp is refused",
    why: "Without an id a duplicate cannot be recognised. Both headers are part of what is signed.",
    fix: "Refuse a request without one of these headers before you do anything else with it.",
    refuse: async ({ deliver }) =>
      (await missingHeaders(deliver)).filter(([name]) => !name.endsWith(TYPE)),
  },
  missing_type: {
    level: "should",
    title: "a delivery without its type is refused",
    why: "The gateway always sends this header.",
    fix: "Refuse a request without one of the webhook headers.",
    refuse: async ({ deliver }) =>
      (await missingHeaders(deliver)).filter(([name]) => name.endsWith(TYPE)),
  },
  malformed_headers: {
    title: "malformed headers are refused",
    why: "An unexpected value ends up in the receiver's store, its log or its calculations.",
    fix: GRAMMAR_FIX,
    refuse: ({ deliver }) =>
      each(MALFORMED, async ([name, value]) => {
        const delivery = await deliver();
        const id = name === ID ? value : delivery.id;
        return [labelOf(name, value), { ...withHeader(delivery, name, value), id }] as const;
      }),
  },
  signed_malformed_headers: {
    level: "should",
    title: "malformed headers are refused even if the signature covers them",
    why: "Only the gateway can send them, but a timestamp that is no number may pass every check of its age, and an empty id makes all deliveries duplicates of one.",
    fix: GRAMMAR_FIX,
    refuse: ({ deliver, settings: { secret, now } }) =>
      each(malformedAt(Math.floor(now() / 1_000)), async ([name, value]) => {
        const signed = signedWith(withHeader(await deliver(), name, value), secret);
        return [labelOf(name, value), { ...signed, id: headerOf(signed, ID) }] as const;
      }),
  },
  repeated_headers: {
    level: "should",
    title: "a webhook header with two values is refused",
    why: "A proxy may use one value and the receiver the other.",
    fix: "Refuse a request with a repeated webhook header, as two lines or joined with a comma.",
    refuse: async ({ deliver }) => {
      const pairs = await each(NAMES, async (name) => {
        const delivery = await deliver();
        const value = headerOf(delivery, name);
        return [
          [`${name}, the right one first`, withHeader(delivery, name, value, "other")],
          [`${name}, the right one last`, withHeader(delivery, name, "other", value)],
        ] as const;
      });
      return pairs.flat();
    },
  },
};

function labelOf(name: string, value: string): string {
  return `${name}: ${value.length > 80 ? `${value.length} characters` : value}`;
}
