import type { ConformanceRules } from "./conformance-rule.js";
import type { Named } from "./expectations.js";
import {
  headerOf,
  rightMac,
  SIGNATURE,
  signedWith,
  textOf,
  withBody,
  withHeader,
} from "./request-changes.js";
import { sendPastLimiter } from "./resending.js";
import { inGroups, type Delivery, type MakeDelivery } from "./test-deliveries.js";
import { unsignedRequest, wrongSecret } from "./unverifiable-requests.js";

/** The right signature of a request that had another one must not be in its answer. */
export const leakedSignatureRules: ConformanceRules = {
  leaked_signature: {
    title: "no answer contains the signature that would have been right",
    why: "Two requests are enough to forge any alarm: the first one is told how to sign the second.",
    fix: "Never put the expected signature into an answer, a header or an error message.",
    async whenAccepted(context) {
      const { secret } = context.settings;
      const requests = await refusedRequests(context.deliver);
      const genuine: readonly Named<Delivery>[] = [
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

/** Requests that a receiver refuses at different steps. */
async function refusedRequests(deliver: MakeDelivery): Promise<readonly Named<Delivery>[]> {
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
