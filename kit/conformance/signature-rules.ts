import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { CaseContext } from "./case-context.js";
import { changedSignatureRules } from "./forged-signature-rules.js";
import { guessableSecretRules } from "./guessable-secret-rule.js";
import type { ConformanceRules } from "./conformance-rule.js";
import type { Named } from "./expectations.js";
import { leakedSignatureRules } from "./leaked-signature-rule.js";
import {
  headerOf,
  ID,
  macOf,
  SIGNATURE,
  TIMESTAMP,
  withBody,
  withHeader,
} from "./request-changes.js";
import { sendPastLimiter } from "./resending.js";
import { ofEachType } from "./rule-kinds.js";
import type { Delivery, MakeDelivery } from "./test-deliveries.js";
import { withTrustedHeaders } from "./trusted-headers.js";
import { unsignedRequest, wrongSecret } from "./unverifiable-requests.js";

/** A delivery with a wrong signature must be refused. */
export const signatureRules: ConformanceRules = {
  wrong_secret: {
    title: "a delivery signed with another secret is refused",
    refuse: async (context) => {
      // A receiver may trust the rest of a connection after a good signature.
      await sendPastLimiter(context, await context.deliver());
      return [
        ...(await ofEachType(context, async (deliver) => [await wrongSecret(deliver)])),
        ...(await inOtherForms(context, wrongSecret)),
      ];
    },
  },
  ...guessableSecretRules,
  unsigned: {
    title: "a delivery without a signature is refused",
    refuse: async (context) => [
      ...(await ofEachType(context, async (deliver) => [
        await unsignedRequest(deliver),
        ["an empty signature", withHeader(await deliver(), SIGNATURE, "")],
      ])),
      ...(await inOtherForms(context, unsignedRequest)),
    ],
  },
  ...changedSignatureRules,
  other_signature_schemes: {
    title: "a signature that does not cover timestamp, id and body is refused",
    why: "What is not signed can be changed. If only the body is signed, a captured alarm is valid under any id.",
    refuse: async ({ deliver, settings: { secret } }) => {
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
  },
  ...leakedSignatureRules,
};

/** The same forgery in forms for which a receiver may skip its check. */
async function inOtherForms(
  context: CaseContext,
  forge: (deliver: MakeDelivery) => Promise<Named<Delivery>>,
): Promise<readonly Named<Delivery>[]> {
  const { deliver } = context;
  const [, plain] = await forge(deliver);
  const gzipped = withBody(plain, gzipSync(plain.body));
  const [, unknown] = await forge((changes) => deliver({ type: "account_closed", ...changes }));
  const [, chunked] = await forge(deliver);
  return [
    ["with the content type text/plain", withHeader(plain, "Content-Type", "text/plain")],
    ["with an unknown X-Webhook-Type", unknown],
    ["compressed", withHeader(gzipped, "Content-Encoding", "gzip")],
    ...(await withTrustedHeaders(context, forge)),
    ["without Content-Length", { ...chunked, chunked: true }],
  ];
}
