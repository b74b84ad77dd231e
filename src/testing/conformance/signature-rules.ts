import { createHmac } from "node:crypto";
import type { ConformanceRule } from "./conformance-rule.js";
import type { Delivery } from "./deliveries.js";
import { refused } from "./refused.js";
import { headerOf, ID, SIGNATURE, TIMESTAMP, withHeader } from "./request-changes.js";
import { unsignedRequest, wrongSecret } from "./suspect-requests.js";

/** What is not the signature of a delivery. */
export const signatureRules: readonly ConformanceRule[] = [
  refused(
    { id: "wrong_secret", title: "a signature by another secret is refused" },
    async ({ deliver }) => [await wrongSecret(deliver)],
  ),
  refused(
    { id: "unsigned", title: "a delivery without a signature is refused" },
    async ({ deliver }) => [
      await unsignedRequest(deliver),
      ["an empty signature", withHeader(await deliver(), SIGNATURE, "")],
    ],
  ),
  refused(
    { id: "partial_signature", title: "a part of a signature is refused" },
    async ({ deliver }) => {
      const delivery = await deliver();
      const mac = headerOf(delivery, SIGNATURE);
      return [
        ["8 digits", withHeader(delivery, SIGNATURE, mac.slice(0, 11))],
        ["no digit", withHeader(delivery, SIGNATURE, "v1=")],
        ["zeros", withHeader(delivery, SIGNATURE, `v1=${"0".repeat(64)}`)],
        ["one digit less", withHeader(delivery, SIGNATURE, mac.slice(0, -1))],
        ["another version", withHeader(delivery, SIGNATURE, `v0=${"0".repeat(64)}`)],
        ["the first digit changed", withChanged(delivery, 0, 1)],
        ["a digit in the middle changed", withChanged(delivery, 32, 33)],
        ["the last digit changed", withChanged(delivery, 63, 64)],
        ["the first half changed", withChanged(delivery, 0, 32)],
        ["the second half changed", withChanged(delivery, 32, 64)],
      ];
    },
  ),
  refused(
    {
      id: "other_schemes",
      title: "a signature over something else than time, id and body is refused",
      why: "What is not signed can be changed: with the body alone, a captured alarm is good for any id.",
    },
    async ({ deliver, settings: { secret } }) => {
      const delivery = await deliver();
      const [id, timestamp] = [headerOf(delivery, ID), headerOf(delivery, TIMESTAMP)];
      const macOf = (prefix: string) =>
        createHmac("sha256", secret).update(prefix).update(delivery.body).digest("hex");
      const withMac = (mac: string) => withHeader(delivery, SIGNATURE, mac);
      return [
        ["over the body", withMac(`v1=${macOf("")}`)],
        ["over the body, as GitHub has it", withMac(`sha256=${macOf("")}`)],
        ["over time and body", withMac(`v1=${macOf(`${timestamp}.`)}`)],
        ["over id, time and body", withMac(`v1=${macOf(`${id}.${timestamp}.`)}`)],
      ];
    },
  ),
];

/** The genuine signature, with every digit otherwise from one place to another. */
function withChanged(delivery: Delivery, from: number, to: number): Delivery {
  const digits = headerOf(delivery, SIGNATURE).slice("v1=".length);
  const changed = digits.replace(/./g, (digit, at: number) =>
    at >= from && at < to ? (15 - Number.parseInt(digit, 16)).toString(16) : digit,
  );
  return withHeader(delivery, SIGNATURE, `v1=${changed}`);
}
