import { createHash } from "node:crypto";
import { TEST_SECRET } from "../signed-delivery.js";
import type { ConformanceRule } from "./conformance-rule.js";
import type { Named } from "./expectations.js";
import { leakedSignatureRule } from "./leaked-signature-rule.js";
import {
  headerOf,
  ID,
  macOf,
  SIGNATURE,
  signedWith,
  TIMESTAMP,
  withHeader,
} from "./request-changes.js";
import { sendPastLimiter } from "./resending.js";
import { ofEachType, refuseRule } from "./rule-kinds.js";
import type { Delivery, MakeDelivery } from "./test-deliveries.js";
import { unsignedRequest, wrongSecret } from "./unverifiable-requests.js";

/** Keys that a receiver signs with by mistake when a secret is not set, and others that anyone can guess. */
const GUESSABLE_SECRETS = [
  ...["", "undefined", "null", "None", "nil", "false", "0", "{}", "[object Object]", "whsec_"],
  ...["secret", "changeme", "GATEWAY_WEBHOOK_SECRET", "$GATEWAY_WEBHOOK_SECRET", TEST_SECRET],
];

/** A delivery with a wrong signature must be refused. */
export const signatureRules: readonly ConformanceRule[] = [
  refuseRule(
    { id: "wrong_secret", title: "a delivery signed with another secret is refused" },
    async (context) => {
      // A receiver may trust the rest of a connection after a good signature.
      await sendPastLimiter(context, await context.deliver());
      return [
        ...(await ofEachType(context, async (deliver) => [await wrongSecret(deliver)])),
        ...(await inOtherForms(context.deliver, wrongSecret)),
      ];
    },
  ),
  refuseRule(
    {
      id: "guessable_secret",
      title: "a delivery signed with an empty, missing or public secret is refused",
      why: 'With a list such as `[secret, process.env.OLD_SECRET ?? ""]` anyone can sign: an unset variable is a known key.',
      fix: "Refuse to start with an empty or undefined secret, in each place of a list. Use the public test secret in tests only.",
    },
    (context) => {
      const { secret } = context.settings;
      const guesses = GUESSABLE_SECRETS.filter((guess) => guess !== secret);
      return ofEachType(context, (deliver) =>
        Promise.all(
          guesses.map(async (guess) => {
            const name = guess === TEST_SECRET ? "the public test secret" : `the secret "${guess}"`;
            return [name, signedWith(await deliver(), guess)] as const;
          }),
        ),
      );
    },
  ),
  refuseRule(
    { id: "unsigned", title: "a delivery without a signature is refused" },
    async (context) => [
      ...(await ofEachType(context, async (deliver) => [
        await unsignedRequest(deliver),
        ["an empty signature", withHeader(await deliver(), SIGNATURE, "")],
      ])),
      ...(await inOtherForms(context.deliver, unsignedRequest)),
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
        ["the letter z for each digit", withHeader(delivery, SIGNATURE, `v1=${"z".repeat(64)}`)],
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
      const over = (prefix: string) => macOf(secret, prefix, delivery.body).toString("hex");
      const unkeyed = createHash("sha256")
        .update(`v1:${timestamp}:${id}:`)
        .update(delivery.body)
        .digest("hex");
      const withMac = (mac: string) => withHeader(delivery, SIGNATURE, mac);
      return [
        ["over the body alone", withMac(`v1=${over("")}`)],
        ["over the body alone, in GitHub's format", withMac(`sha256=${over("")}`)],
        ["over timestamp and body", withMac(`v1=${over(`${timestamp}.`)}`)],
        ["over timestamp and body, with colons", withMac(`v1=${over(`v1:${timestamp}:`)}`)],
        ["over id and body", withMac(`v1=${over(`v1:${id}:`)}`)],
        [
          "over id, timestamp and body in another order",
          withMac(`v1=${over(`${id}.${timestamp}.`)}`),
        ],
        [
          "over everything but the body",
          withMac(`v1=${macOf(secret, `v1:${timestamp}:${id}:`).toString("hex")}`),
        ],
        ["a hash without a secret", withMac(`v1=${unkeyed}`)],
      ];
    },
  ),
  leakedSignatureRule,
];

/** The same forgery in forms for which a receiver may skip its check. */
async function inOtherForms(
  deliver: MakeDelivery,
  forge: (deliver: MakeDelivery) => Promise<Named<Delivery>>,
): Promise<readonly Named<Delivery>[]> {
  const [, plain] = await forge(deliver);
  const [, unknown] = await forge((changes) => deliver({ type: "account_closed", ...changes }));
  const [, chunked] = await forge(deliver);
  return [
    ["with the content type text/plain", withHeader(plain, "Content-Type", "text/plain")],
    ["with an unknown X-Webhook-Type", unknown],
    ["with X-Forwarded-For: 127.0.0.1", withHeader(plain, "X-Forwarded-For", "127.0.0.1")],
    ["without Content-Length", { ...chunked, chunked: true }],
  ];
}

/** The genuine signature with the digits between two positions changed. */
function withChanged(delivery: Delivery, from: number, to: number): Delivery {
  const digits = headerOf(delivery, SIGNATURE).slice("v1=".length);
  const changed = digits.replace(/./g, (digit, at: number) =>
    at >= from && at < to ? (15 - Number.parseInt(digit, 16)).toString(16) : digit,
  );
  return withHeader(delivery, SIGNATURE, `v1=${changed}`);
}
