import type { ConformanceRule } from "./conformance-rule.js";
import type { Delivery } from "./deliveries.js";
import { expectRefused, type Named } from "./expectations.js";
import { headerOf, ID, SIGNATURE, TIMESTAMP, TYPE, withHeader } from "./request-changes.js";
import { lostHeaders } from "./suspect-requests.js";

const HEX = "0123456789abcdef".repeat(4);

/** What each header must not be, beside missing and repeated. */
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

const NAMES = [ID, TIMESTAMP, TYPE, SIGNATURE];

/** What is missing, malformed or ambiguous in a request's head. */
export const headerRules: readonly ConformanceRule[] = [
  {
    id: "missing_headers",
    level: "must",
    title: "a delivery without its id or timestamp is refused",
    why: "Without an id a delivery cannot be handled once, and without both it is not what was signed.",
    mend: "Refuse what lacks one of the headers, before anything else is done with it.",
    judge: async (trial) =>
      expectRefused(
        trial,
        (await lostHeaders(trial.deliver)).filter(([name]) => !name.endsWith(TYPE)),
      ),
  },
  {
    id: "missing_type",
    level: "should",
    title: "a delivery without its type is refused",
    why: "It is not what the gateway sends.",
    mend: "Refuse what lacks one of the headers.",
    judge: async (trial) =>
      expectRefused(
        trial,
        (await lostHeaders(trial.deliver)).filter(([name]) => name.endsWith(TYPE)),
      ),
  },
  {
    id: "malformed_headers",
    level: "must",
    title: "headers beyond their grammar are refused",
    why: "What a receiver does not expect of a header gets into its store, its log or its arithmetic.",
    mend: "Take an id of `[0-9A-Za-z._-]`, a timestamp of digits, and `v1=` with 64 hexadecimal digits.",
    async judge(trial) {
      const requests: Named<Delivery>[] = [];
      for (const [name, value] of MALFORMED) {
        const delivery = await trial.deliver();
        const label = `${name}: ${value.length > 80 ? `${value.length} characters` : value}`;
        const id = name === ID ? value : delivery.id;
        requests.push([label, { ...withHeader(delivery, name, value), id }]);
      }
      await expectRefused(trial, requests);
    },
  },
  {
    id: "repeated_headers",
    level: "should",
    title: "a webhook header that is given two values is refused",
    why: "A proxy may believe the one and the receiver the other.",
    mend: "Refuse what has one of the headers twice, be it as two lines or joined with a comma.",
    async judge(trial) {
      const requests: Named<Delivery>[] = [];
      for (const name of NAMES) {
        const delivery = await trial.deliver();
        const value = headerOf(delivery, name);
        requests.push(
          [`${name}, the right one first`, withHeader(delivery, name, value, "other")],
          [`${name}, the right one last`, withHeader(delivery, name, "other", value)],
        );
      }
      await expectRefused(trial, requests);
    },
  },
];
