import type { ConformanceRule } from "./conformance-rule.js";
import type { Deliver, Delivery } from "./deliveries.js";
import { expectNotGivenUp, expectSurvived, type Named } from "./expectations.js";
import { textOf, withBody, withHeader } from "./request-changes.js";
import {
  driftedClock,
  lostHeaders,
  rewrittenBody,
  unsignedRequest,
  wrongSecret,
} from "./suspect-requests.js";

/** What every `why` begins with. */
export const FINAL = "400, 401, 403, 404 and 422 end the gateway's attempts";

/** What a genuine delivery looks like under a mistake on the receiver's own side. */
function notGivenUp(
  rule: Omit<ConformanceRule, "judge" | "level"> & { readonly level?: "should" },
  requests: (deliver: Deliver) => Promise<readonly Named<Delivery>[]>,
): ConformanceRule {
  const judge: ConformanceRule["judge"] = async (trial) =>
    expectNotGivenUp(trial, await requests(trial.deliver));
  return { level: "must", ...rule, judge };
}

/** Answers on which the gateway gives up for good what it could send again. */
export const givingUpRules: readonly ConformanceRule[] = [
  notGivenUp(
    {
      id: "wrong_secret_sent_again",
      title: "a signature by another secret is answered so that it is sent again",
      why: `${FINAL}. A secret that was not rolled out everywhere looks like this: each alarm of that hour is lost for good.`,
      mend: "Answer 409: a forger learns as little, and the alarms come once the secret is right.",
    },
    async (deliver) => [await wrongSecret(deliver)],
  ),
  notGivenUp(
    {
      id: "unsigned_sent_again",
      title: "a delivery without a signature is answered so that it is sent again",
      why: `${FINAL}. A webhook that was registered without its secret looks like this: its alarms are lost for good.`,
      mend: "Answer 409, and tell somebody.",
    },
    async (deliver) => [await unsignedRequest(deliver)],
  ),
  notGivenUp(
    {
      id: "drifted_clock_sent_again",
      title: "a timestamp far from the receiver's clock is answered so that it is sent again",
      why: `${FINAL}. A clock that drifts on your side looks like this: every alarm is lost until it is set.`,
      mend: "Answer 409.",
    },
    driftedClock,
  ),
  notGivenUp(
    {
      id: "rewritten_body_sent_again",
      title: "a body that was written anew on the way is answered so that it is sent again",
      why: `${FINAL}. A proxy or a parser in front that rewrites bodies looks like this: every alarm is lost until it is moved.`,
      mend: "Answer 409.",
    },
    async (deliver) => [await rewrittenBody(deliver)],
  ),
  notGivenUp(
    {
      id: "lost_headers_sent_again",
      level: "should",
      title: "a delivery without one of its headers is answered so that it is sent again",
      why: `${FINAL}. A proxy that drops headers looks like this.`,
      mend: "Answer 409.",
    },
    lostHeaders,
  ),
  {
    id: "oversize",
    level: "must",
    title: "a genuine body over the limit is answered so that it is sent again",
    why: `${FINAL}. Sent again, it comes once the limit is raised.`,
    mend: "Answer 409 and close the connection, or take it.",
    async judge(trial) {
      const { maxBodyBytes } = trial.settings;
      const text = textOf(await trial.deliver());
      const big = await trial.deliver({ body: " ".repeat(2 * maxBodyBytes) + text });
      await expectNotGivenUp(trial, [["twice the limit", big]]);
      await expectSurvived(trial, "a body over the limit");
    },
  },
  {
    id: "unlisted_statuses",
    level: "should",
    title: "no status is answered that the gateway's contract does not name",
    why: "Of redirects, 405, 410, 413 and 415 the gateway's document does not say whether they are sent again.",
    mend: "Answer 409 to what may be genuine, and 2xx, 500 or 503 to what is.",
    async judge(trial) {
      const { deliver } = trial;
      const odd = withHeader(await deliver(), "Content-Type", "text/plain");
      const big = withBody(await deliver(), new Uint8Array(2 * trial.settings.maxBodyBytes));
      const requests: readonly Named<Delivery>[] = [
        ["a genuine delivery", await deliver()],
        ["text/plain", odd],
        await wrongSecret(deliver),
        await unsignedRequest(deliver),
        await rewrittenBody(deliver),
        ...(await driftedClock(deliver)),
        ...(await lostHeaders(deliver)),
        ["a body over the limit", big],
      ];
      for (const [name, request] of requests) {
        const reply = await trial.send(request);
        if (reply.verdict === "unlisted") {
          throw trial.failure(`${name}: expected a status of its contract, got ${reply.text}`);
        }
      }
      await expectSurvived(trial, "all of that");
    },
  },
];
