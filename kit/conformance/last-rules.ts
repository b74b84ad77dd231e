import { setTimeout as wait } from "node:timers/promises";
import type { WireRequest } from "../sending/wire.js";
import type { CaseContext } from "./case-context.js";
import type { ConformanceRules } from "./conformance-rule.js";
import type { LoggedDelivery } from "./delivery-log.js";
import { sendConcurrently, sendTwice } from "./duplicates.js";
import {
  ensureAcceptsGenuine,
  ensureNotOfLimiter,
  expectAccepted,
  expectNotAccepted,
  times,
} from "./expectations.js";
import { ID, withBody, withHeader } from "./request-changes.js";
import { sendGenuine, sendPastLimiter } from "./resending.js";
import { ofEachType } from "./rule-kinds.js";
import { inGroups, inPool } from "./test-deliveries.js";
import { driftedClock, unsignedRequest, wrongSecret } from "./unverifiable-requests.js";

/** How many counts are read at the same time. */
const AT_A_TIME = 16;

/** Counts everything once more after the other cases: an effect may come long after the answer. */
export const lateEffectsRules: ConformanceRules = {
  late_effects: {
    title: "nothing that was refused or handled once is handled later",
    needs: ["handled"],
    why: "A receiver that refuses a delivery but keeps it handles a forgery, or handles an alarm again that the gateway sends again.",
    fix: "Put nothing into a queue that you refuse, and nothing that is a duplicate.",
    async whenAccepted(context) {
      await sendWhatMayComeLate(context);
      const logged = context.suite.log.take();
      await wait(context.settings.handledWithinMs);
      await inPool(logged, AT_A_TIME, (one) => expectNoMore(context, one));
      context.suite.log.take();
    },
  },
};

/** A forgery, an unsigned request, a duplicate and concurrent duplicates, so that the case also works alone. */
async function sendWhatMayComeLate(context: CaseContext): Promise<void> {
  const forged = await ofEachType(context, async (deliver) => [
    await wrongSecret(deliver),
    await unsignedRequest(deliver),
  ]);
  await inGroups(context, forged, async ([name, request]) => {
    const answer = await sendPastLimiter(context, request);
    await expectNotAccepted(context, name, request.id, answer);
  });
  await inGroups(context, context.settings.types, async (type) => {
    const [one, other] = [await context.deliver({ type }), await context.deliver({ type })];
    await sendTwice(context, one);
    await sendConcurrently(context, other);
    for (const { id } of [one, other]) await context.settledRunsOf(id);
  });
}

async function expectNoMore(
  context: CaseContext,
  { id, runs, isForged }: LoggedDelivery,
): Promise<void> {
  const later = (await context.runsOf(id)) ?? 0;
  if (later <= Math.max(runs, isForged ? 0 : 1)) return;
  const what = isForged ? "a refused request" : "a delivery";
  const message = `${what} with the id ${id} was handled ${times(runs)} when its case ended, and ${times(later)} some time later`;
  throw context.failure("handled_late", message);
}

const FORGERIES = 100;
const FORGERIES_AT_A_TIME = 20;

/** Forgeries must not shut the gateway out. It comes last, since a ban would spoil every other case. */
export const forgeryBanRules: ConformanceRules = {
  ban_after_forgeries: {
    title: "genuine deliveries are still accepted after a hundred forgeries",
    why: "Your address may see the gateway and a forger behind the same proxy, and a wrong secret makes the gateway itself look like a forger. A ban loses every alarm while it lasts.",
    fix: "Do not ban a sender for bad signatures. To limit the rate, answer 429 or 503 with Retry-After, and only for seconds.",
    async whenAccepted(context) {
      let refused: string | undefined;
      for (let sent = 0; sent < FORGERIES; sent += FORGERIES_AT_A_TIME) {
        const forgeries = await Promise.all(
          Array.from({ length: FORGERIES_AT_A_TIME }, () => wrongSecret(context.deliver)),
        );
        // A limiter may answer some of them. It is the genuine delivery that counts.
        const answers = await Promise.all(forgeries.map(([, request]) => context.send(request)));
        const at = answers.findIndex(({ result }) => result !== "acknowledged");
        refused = forgeries[at]?.[1].id;
      }
      for (const type of context.settings.types) {
        const delivery = await context.deliver({ type });
        const answer = await sendGenuine(context, delivery);
        const name = `a genuine delivery after ${FORGERIES} forgeries`;
        ensureNotOfLimiter(context, name, answer);
        await expectAccepted(context, name, delivery.id, answer);
      }
      if (refused === undefined) return;
      const answer = await sendGenuine(context, await context.deliver({ id: refused }));
      await expectAccepted(context, "a genuine delivery with the id of a forgery", refused, answer);
    },
  },
};

/** The secret must not be in any answer of the whole run. It sends some requests for a run of this case alone. */
export const leakedSecretRules: ConformanceRules = {
  leaked_secret: {
    title: "no answer contains the secret, as it is, in base64 or in hexadecimal",
    why: "Anyone who reads it can sign any alarm. Error pages and settings pages show it, and proxies log answers.",
    fix: "Never put settings or an error's details into an answer, and switch off the framework's debug pages. Then change the secret.",
    async check(context) {
      if (context.suite.secretWatch.isBlind) context.leaveUnjudged("longer_secret");
      failOnLeak(context);
      await ensureAcceptsGenuine(context);
      await inGroups(context, await requestsOfAllKinds(context), async (request) => {
        await sendPastLimiter(context, request);
        failOnLeak(context);
      });
    },
  },
};

function failOnLeak(context: CaseContext): void {
  const leak = context.suite.secretWatch.take();
  if (leak === undefined) return;
  const { caseId, exchange } = leak;
  if (!context.exchanges.includes(exchange)) context.exchanges.push(exchange);
  const message = `the answer to a ${exchange.sent.method} of the case ${caseId} contains the secret`;
  throw context.failure("leak", message);
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
