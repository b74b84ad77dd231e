import type { ConformanceRules } from "./conformance-rule.js";
import { expectNotGivenUp, expectStillAccepts, type NamedDeliveries } from "./expectations.js";
import { textOf, withBody, withHeader } from "./request-changes.js";
import { FINAL_STATUSES_WHY, ofEachType } from "./rule-kinds.js";
import { inGroups } from "./test-deliveries.js";
import {
  driftedClock,
  missingHeaders,
  reserializedBody,
  unsignedRequest,
  wrongSecret,
} from "./unverifiable-requests.js";

/** A refusal of a delivery that may be genuine must let the gateway send it again. */
export const retryableRefusalRules: ConformanceRules = {
  wrong_secret_sent_again: {
    title: "a delivery signed with another secret gets a retryable status",
    why: `${FINAL_STATUSES_WHY}. A new secret that is not deployed everywhere looks like this, and all alarms of that hour are lost.`,
    fix: "Answer 409. A forger learns no more from it, and the alarms arrive once the secret is right.",
    retry: (context) => ofEachType(context, async (deliver) => [await wrongSecret(deliver)]),
  },
  unsigned_sent_again: {
    title: "a delivery without a signature gets a retryable status",
    why: `${FINAL_STATUSES_WHY}. A webhook that was registered without its secret looks like this, and its alarms are lost.`,
    fix: "Answer 409 and alert someone.",
    retry: (context) => ofEachType(context, async (deliver) => [await unsignedRequest(deliver)]),
  },
  drifted_clock_sent_again: {
    title: "a timestamp far from the receiver's clock gets a retryable status",
    why: `${FINAL_STATUSES_WHY}. A wrong clock on your side looks like this, and every alarm is lost until the clock is set.`,
    fix: "Answer 409.",
    retry: (context) => ofEachType(context, driftedClock),
  },
  rewritten_body_sent_again: {
    title: "a body that was re-serialized on the way gets a retryable status",
    why: `${FINAL_STATUSES_WHY}. A proxy or a parser in front that rewrites bodies looks like this, and every alarm is lost until it is removed.`,
    fix: "Answer 409.",
    retry: async ({ deliver }) => [await reserializedBody(deliver)],
  },
  lost_headers_sent_again: {
    level: "should",
    title: "a delivery without one of its headers gets a retryable status",
    why: `${FINAL_STATUSES_WHY}. A proxy that drops headers looks like this.`,
    fix: "Answer 409.",
    retry: ({ deliver }) => missingHeaders(deliver),
  },
  oversize: {
    title: "a genuine body over the limit gets a retryable status",
    why: `${FINAL_STATUSES_WHY}. With a retryable status it arrives once the limit is raised.`,
    fix: "Answer 409 and close the connection, or accept the body.",
    async check(context) {
      const { maxBodyBytes } = context.settings;
      const text = textOf(await context.deliver());
      const big = await context.deliver({ body: " ".repeat(2 * maxBodyBytes) + text });
      await expectNotGivenUp(context, [["twice the limit", big]]);
      await expectStillAccepts(context, "a body over the limit");
    },
  },
  unlisted_statuses: {
    level: "should",
    title: "every status is one that the gateway's contract mentions",
    why: "The gateway's document does not say whether it sends again after redirects, 405, 410, 413 or 415.",
    fix: "Answer 409 to what may be genuine, and 2xx, 500 or 503 to what is genuine.",
    async check(context) {
      const { deliver } = context;
      const plainText = withHeader(await deliver(), "Content-Type", "text/plain");
      const big = withBody(await deliver(), new Uint8Array(2 * context.settings.maxBodyBytes));
      const requests: NamedDeliveries = [
        ["a genuine delivery", await deliver()],
        ["text/plain", plainText],
        await wrongSecret(deliver),
        await unsignedRequest(deliver),
        await reserializedBody(deliver),
        ...(await driftedClock(deliver)),
        ...(await missingHeaders(deliver)),
        ["a body over the limit", big],
      ];
      await inGroups(context, requests, async ([name, request]) => {
        const answer = await context.send(request);
        const isListed = answer.result !== "unlisted";
        context.expect(isListed, name, "a status of the gateway's contract", answer);
      });
      await expectStillAccepts(context, "these requests");
    },
  },
};
