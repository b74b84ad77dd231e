import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { CaseContext } from "./case-context.js";
import { changedSignatureRules } from "./forged-signature-rules.js";
import { guessableSecretRules } from "./guessable-secret-rule.js";
import type { ConformanceRules } from "./conformance-rule.js";
import type { Named, NamedDeliveries } from "./expectations.js";
import {
  headerOf,
  ID,
  macOf,
  rightMac,
  SIGNATURE,
  signedWith,
  textOf,
  TIMESTAMP,
  withBody,
  withHeader,
} from "./request-changes.js";
import { sendPastLimiter } from "./resending.js";
import { ofEachType } from "./rule-kinds.js";
import { inGroups, type Delivery, type MakeDelivery } from "./test-deliveries.js";
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
  leaked_signature: {
    title: "no answer contains the signature that would have been right",
    why: "Two requests are enough to forge any alarm: the first one is told how to sign the second.",
    fix: "Never put the expected signature into an answer, a header or an error message.",
    async whenAccepted(context) {
      const { secret } = context.settings;
      const requests = await refusedRequests(context.deliver);
      const genuine: NamedDeliveries = [
        ["a genuine delivery", await context.deliver()],
        ["a genuine delivery that is not JSON", await context.deliver({ body: "{" })],
      ];
      await inGroups(context, [...requests, ...genuine], async ([name, request]) => {
        const { wire } = await sendPastLimiter(context, request);
        const texts = [wire?.body, ...Object.values(wire?.headers ?? {})];
        // JSON may escape the slashes of base64.
        const said = texts.join("\n").replaceAll("\\/", "/");
        // Who sends a right signature learns nothing from it.
        const mac = rightMac(request, secret);
        const isKnown = headerOf(request, SIGNATURE) === `v1=${mac.toString("hex")}`;
        if (!isKnown && spellings(mac).some((one) => said.includes(one))) {
          const message = `${name}: the answer contains the signature that would have been right`;
          throw context.failure("leak", message);
        }
      });
    },
  },
};

/** The same forgery in forms for which a receiver may skip its check. */
async function inOtherForms(
  context: CaseContext,
  forge: (deliver: MakeDelivery) => Promise<Named<Delivery>>,
): Promise<NamedDeliveries> {
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

/** Requests that a receiver refuses at different steps. */
async function refusedRequests(deliver: MakeDelivery): Promise<NamedDeliveries> {
  const delivery = await deliver();
  const changed = withBody(
    delivery,
    textOf(delivery).replace(/"account_id":\d+/, '"account_id":7'),
  );
  return [
    await wrongSecret(deliver),
    await unsignedRequest(deliver),
    ["a changed body", changed],
    ["a signature that is too short", withHeader(await deliver(), SIGNATURE, "v1=00")],
    ["a signature that is not hexadecimal", withHeader(await deliver(), SIGNATURE, "v1=é")],
    ["a wrong signature, an hour old", signedWith(await deliver({ age: 3_600 }), "another")],
    ["a wrong signature of what is not JSON", signedWith(await deliver({ body: "{" }), "another")],
  ];
}

/** The forms in which a message may hold a signature. */
function spellings(mac: Buffer): readonly string[] {
  const hex = mac.toString("hex");
  return [
    hex,
    hex.toUpperCase(),
    mac.toString("base64").replace("=", ""),
    mac.toString("base64url"),
  ];
}
