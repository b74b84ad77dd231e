import type { ConformanceRule } from "./conformance-rule.js";
import { expectRefused, type Named } from "./expectations.js";
import { headerOf, ID, SIGNATURE, TIMESTAMP, TYPE, withHeader } from "./request-changes.js";
import type { Delivery } from "./test-deliveries.js";
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

const NAMES = [ID, TIMESTAMP, TYPE, SIGNATURE];

/** A request with missing, malformed or ambiguous webhook headers must be refused. */
export const headerRules: readonly ConformanceRule[] = [
  {
    id: "missing_headers",
    level: "must",
    title: "a delivery without its id or timestamp is refused",
    why: "Without an id a duplicate cannot be recognised. Both headers are part of what is signed.",
    fix: "Refuse a request without one of these headers before you do anything else with it.",
    check: async (context) =>
      expectRefused(
        context,
        (await missingHeaders(context.deliver)).filter(([name]) => !name.endsWith(TYPE)),
      ),
  },
  {
    id: "missing_type",
    level: "should",
    title: "a delivery without its type is refused",
    why: "The gateway always sends this header.",
    fix: "Refuse a request without one of the webhook headers.",
    check: async (context) =>
      expectRefused(
        context,
        (await missingHeaders(context.deliver)).filter(([name]) => name.endsWith(TYPE)),
      ),
  },
  {
    id: "malformed_headers",
    level: "must",
    title: "malformed headers are refused",
    why: "An unexpected value ends up in the receiver's store, its log or its calculations.",
    fix: "Accept only an id of `[0-9A-Za-z._-]`, a timestamp of digits, and a signature of `v1=` and 64 hexadecimal digits.",
    async check(context) {
      const requests: Named<Delivery>[] = [];
      for (const [name, value] of MALFORMED) {
        const delivery = await context.deliver();
        const label = `${name}: ${value.length > 80 ? `${value.length} characters` : value}`;
        const id = name === ID ? value : delivery.id;
        requests.push([label, { ...withHeader(delivery, name, value), id }]);
      }
      await expectRefused(context, requests);
    },
  },
  {
    id: "repeated_headers",
    level: "should",
    title: "a webhook header with two values is refused",
    why: "A proxy may use one value and the receiver the other.",
    fix: "Refuse a request with a repeated webhook header, as two lines or joined with a comma.",
    async check(context) {
      const requests: Named<Delivery>[] = [];
      for (const name of NAMES) {
        const delivery = await context.deliver();
        const value = headerOf(delivery, name);
        requests.push(
          [`${name}, the right one first`, withHeader(delivery, name, value, "other")],
          [`${name}, the right one last`, withHeader(delivery, name, "other", value)],
        );
      }
      await expectRefused(context, requests);
    },
  },
];
