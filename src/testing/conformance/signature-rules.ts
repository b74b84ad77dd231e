import { createHmac } from "node:crypto";
import type { ConformanceRule } from "./conformance-rule.js";
import { headerOf, ID, SIGNATURE, TIMESTAMP, withHeader } from "./request-changes.js";
import { refuseRule } from "./rule-kinds.js";
import type { Delivery } from "./test-deliveries.js";
import { unsignedRequest, wrongSecret } from "./unverifiable-requests.js";

/** A delivery with a wrong signature must be refused. */
export const signatureRules: readonly ConformanceRule[] = [
  refuseRule(
    { id: "wrong_secret", title: "a delivery signed with another secret is refused" },
    async ({ deliver }) => [await wrongSecret(deliver)],
  ),
  refuseRule(
    { id: "unsigned", title: "a delivery without a signature is refused" },
    async ({ deliver }) => [
      await unsignedRequest(deliver),
      ["an empty signature", withHeader(await deliver(), SIGNATURE, "")],
    ],
  ),
  refuseRule(
    { id: "partial_signature", title: "an incomplete or changed signature is refused" },
    async ({ deliver }) => {
      const delivery = await deliver();
      const mac = headerOf(delivery, SIGNATURE);
      return [
        ["only 8 digits", withHeader(delivery, SIGNATURE, mac.slice(0, 11))],
        ["no digit", withHeader(delivery, SIGNATURE, "v1=")],
        ["zeros", withHeader(delivery, SIGNATURE, `v1=${"0".repeat(64)}`)],
        ["one digit too few", withHeader(delivery, SIGNATURE, mac.slice(0, -1))],
        ["another version", withHeader(delivery, SIGNATURE, `v0=${"0".repeat(64)}`)],
        ["the first digit changed", withChanged(delivery, 0, 1)],
        ["a digit in the middle changed", withChanged(delivery, 32, 33)],
        ["the last digit changed", withChanged(delivery, 63, 64)],
        ["the first half changed", withChanged(delivery, 0, 32)],
        ["the second half changed", withChanged(delivery, 32, 64)],
      ];
    },
  ),
  refuseRule(
    {
      id: "other_signature_schemes",
      title: "a signature that does not cover timestamp, id and body is refused",
      why: "What is not signed can be changed. If only the body is signed, a captured alarm is valid under any id.",
    },
    async ({ deliver, settings: { secret } }) => {
      const delivery = await deliver();
      const [id, timestamp] = [headerOf(delivery, ID), headerOf(delivery, TIMESTAMP)];
      const macOf = (prefix: string) =>
        createHmac("sha256", secret).update(prefix).update(delivery.body).digest("hex");
      const withMac = (mac: string) => withHeader(delivery, SIGNATURE, mac);
      return [
        ["over the body alone", withMac(`v1=${macOf("")}`)],
        ["over the body alone, in GitHub's format", withMac(`sha256=${macOf("")}`)],
        ["over timestamp and body", withMac(`v1=${macOf(`${timestamp}.`)}`)],
        [
          "over id, timestamp and body in another order",
          withMac(`v1=${macOf(`${id}.${timestamp}.`)}`),
        ],
      ];
    },
  ),
];

/** The genuine signature with the digits between two positions changed. */
function withChanged(delivery: Delivery, from: number, to: number): Delivery {
  const digits = headerOf(delivery, SIGNATURE).slice("v1=".length);
  const changed = digits.replace(/./g, (digit, at: number) =>
    at >= from && at < to ? (15 - Number.parseInt(digit, 16)).toString(16) : digit,
  );
  return withHeader(delivery, SIGNATURE, `v1=${changed}`);
}
