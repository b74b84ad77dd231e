import type { ConformanceRules } from "./conformance-rule.js";
import {
  each,
  ID,
  missingHeaders,
  SIGNATURE,
  TIMESTAMP,
  TYPE,
  type Delivery,
} from "./test-deliveries.js";

const HEX = "0123456789abcdef".repeat(4);

type Values = readonly (readonly [header: string, ...values: string[]])[];

/** In a value: the id of its own that each request has. What one run handles by mistake is no sign in the next one. */
const OWN_ID = "{id}";

/** Invalid values of each header. */
const MALFORMED: Values = [
  [ID, "", "{id}:b", "{id} b", "{id},b", "é{id}", "../../etc/{id}", "__proto__"],
  [ID, `{id}${"x".repeat(93)}`, `{id}${"x".repeat(4_000)}`],
  [TIMESTAMP, "", "-1760000000", "1.76e9", "0x68e77800", "1760000000000", "NaN"],
  [TIMESTAMP, "2026-07-08T10:00:00Z"],
  [SIGNATURE, HEX, `v1=${HEX.slice(1)}`, `v1=${HEX}0`, `v1=${HEX.slice(1)}g`],
  [SIGNATURE, `v2=${HEX}`, `V1=${HEX}`, `v1= ${HEX}`, "é".repeat(67)],
];

/** Malformed headers that are close to right ones, in Unix seconds. */
function malformedAt(seconds: number): Values {
  const [time, hex] = [String(seconds), seconds.toString(16)];
  return [
    [ID, "", "{id}:b", `{id}${"x".repeat(4_000)}`],
    [TIMESTAMP, "", "NaN", `-${time}`, `+${time}`, `${time}.5`, `${time}abc`, `${time}e0`],
    [TIMESTAMP, `${time}000`, `0x${hex}`, new Date(seconds * 1_000).toISOString()],
  ];
}

function pairsOf(values: Values) {
  return values.flatMap(([name, ...all]) => all.map((value) => [name, value] as const));
}

const GRAMMAR_FIX =
  "Accept only an id of `[0-9A-Za-z._-]`, a timestamp of digits, and a signature of `v1=` and 64 hexadecimal digits.";

/** A request with missing, malformed or ambiguous webhook headers must be refused. */
export const headerRules: ConformanceRules = {
  missing_headers: {
    title: "a delivery without its id or timestamp is refused",
    why: "Without an id a duplicate cannot be recognised. Both headers are part of what is signed.",
    fix: "Refuse a request without one of these headers before you do anything else with it.",
    refuse: ({ deliver }) => missingHeaders(deliver, [ID, TIMESTAMP]),
  },
  missing_type: {
    level: "should",
    title: "a delivery without its type is refused",
    why: "The gateway always sends this header.",
    fix: "Refuse a request without one of the webhook headers.",
    refuse: ({ deliver }) => missingHeaders(deliver, [TYPE]),
  },
  malformed_headers: {
    title: "malformed headers are refused",
    why: "An unexpected value ends up in the receiver's store, its log or its calculations.",
    fix: GRAMMAR_FIX,
    refuse: ({ deliver }) =>
      each(pairsOf(MALFORMED), async ([name, value]) => {
        const delivery = malformed(await deliver(), name, value);
        return [labelOf(name, value), delivery] as const;
      }),
  },
  signed_malformed_headers: {
    level: "should",
    title: "malformed headers are refused even if the signature covers them",
    why: "Only the gateway can send them, but a timestamp that is no number may pass every check of its age, and an empty id makes all deliveries duplicates of one.",
    fix: GRAMMAR_FIX,
    refuse: ({ deliver, settings: { now } }) =>
      each(pairsOf(malformedAt(Math.floor(now() / 1_000))), async ([name, value]) => {
        const signed = malformed(await deliver(), name, value).signedWith();
        return [labelOf(name, value), signed] as const;
      }),
  },
  repeated_headers: {
    level: "should",
    title: "a second id, timestamp or type is refused",
    why: "A proxy may use one value and the receiver the other.",
    fix: "Refuse a request with a second id, timestamp or type, as two lines or joined with a comma.",
    refuse: async ({ deliver }) => {
      const pairs = await each([ID, TIMESTAMP, TYPE], async (name) => {
        const delivery = await deliver();
        const value = delivery.header(name);
        const other = name === ID ? `${value}.other` : "other";
        return [
          [`${name}, the right one first`, delivery.withHeader(name, value, other)],
          [`${name}, the right one last`, delivery.withHeader(name, other, value)],
        ] as const;
      });
      return pairs.flat();
    },
  },
};

/** A delivery with a malformed header. An id that others may have too is not counted. */
function malformed(delivery: Delivery, name: string, value: string): Delivery {
  const own = value.replace(OWN_ID, delivery.id);
  const id = name === ID && own !== value ? own : delivery.id;
  return delivery.withHeader(name, own).with({ id });
}

function labelOf(name: string, value: string): string {
  return `${name}: ${value.length > 80 ? `${value.length} characters` : value}`;
}
