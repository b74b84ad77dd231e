import type { WireRequest } from "../sending/wire.js";
import type { CaseContext } from "./case-context.js";
import type { ConformanceRule } from "./conformance-rule.js";
import { ensureAcceptsGenuine } from "./expectations.js";
import { sendPastLimiter } from "./resending.js";
import { ID, withBody, withHeader } from "./request-changes.js";
import { driftedClock, unsignedRequest, wrongSecret } from "./unverifiable-requests.js";

/** The secret must not be in any answer of the whole run. It sends some requests for a run of this case alone. */
export const leakedSecretRule: ConformanceRule = {
  id: "leaked_secret",
  level: "must",
  title: "no answer contains the secret, as it is, in base64 or in hexadecimal",
  why: "Anyone who reads it can sign any alarm. Error pages and settings pages show it, and proxies log answers.",
  fix: "Never put settings or an error's details into an answer, and switch off the framework's debug pages. Then change the secret.",
  async check(context) {
    if (context.secretWatch.isBlind) context.leaveUnjudged("longer_secret");
    failOnLeak(context);
    await ensureAcceptsGenuine(context);
    for (const request of await requestsOfAllKinds(context)) {
      await sendPastLimiter(context, request);
      failOnLeak(context);
    }
  },
};

function failOnLeak(context: CaseContext): void {
  const leak = context.secretWatch.take();
  if (leak === undefined) return;
  const { caseId, exchange } = leak;
  if (!context.exchanges.includes(exchange)) context.exchanges.push(exchange);
  throw context.failure(
    "leak",
    `the answer to a ${exchange.sent.method} of the case ${caseId} contains the secret`,
  );
}

/** Requests that a receiver answers at different steps. */
async function requestsOfAllKinds({
  deliver,
  settings: { maxBodyBytes },
}: CaseContext): Promise<readonly WireRequest[]> {
  const delivery = await deliver();
  const [[, forged], [, unsigned], drifted] = await Promise.all([
    wrongSecret(deliver),
    unsignedRequest(deliver),
    driftedClock(deliver),
  ]);
  return [
    ...["GET", "HEAD"].map((method) => ({ ...delivery, method, body: undefined })),
    ...["OPTIONS", "PUT", "DELETE"].map((method) => ({ ...forged, method })),
    delivery,
    delivery,
    forged,
    unsigned,
    ...drifted.map(([, request]) => request),
    withHeader(delivery, ID),
    withHeader(delivery, ID, "a:b"),
    { ...delivery, headers: [] },
    withBody(forged, new Uint8Array(2 * maxBodyBytes)),
    ...(await Promise.all(["{", "null", '{"alarm":null}'].map((body) => deliver({ body })))),
  ];
}
