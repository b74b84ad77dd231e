import { setTimeout as wait } from "node:timers/promises";
import type { CaseContext } from "./case-context.js";
import type { ConformanceRule } from "./conformance-rule.js";
import type { LoggedDelivery } from "./delivery-log.js";
import { sendConcurrently, sendTwice } from "./duplicates.js";
import { ensureAcceptsGenuine, expectNotAccepted, times } from "./expectations.js";
import { sendPastLimiter } from "./resending.js";
import { ofEachType } from "./rule-kinds.js";
import { unsignedRequest, wrongSecret } from "./unverifiable-requests.js";

/** How many counts are read at the same time. */
const AT_A_TIME = 16;

/** Counts everything once more after the other cases: an effect may come long after the answer. */
export const lateEffectsRule: ConformanceRule = {
  id: "late_effects",
  level: "must",
  title: "nothing that was refused or handled once is handled later",
  needs: ["handled"],
  why: "A receiver that refuses a delivery but keeps it handles a forgery, or handles an alarm again that the gateway sends again.",
  fix: "Put nothing into a queue that you refuse, and nothing that is a duplicate.",
  async check(context) {
    await ensureAcceptsGenuine(context);
    await sendWhatMayComeLate(context);
    const logged = context.log.take();
    await wait(context.settings.handledWithinMs);
    const left = [...logged];
    const countAgain = async (): Promise<void> => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        await expectNoMore(context, next);
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, countAgain));
    context.log.take();
  },
};

/** A forgery, an unsigned request, a duplicate and concurrent duplicates, so that the case also works alone. */
async function sendWhatMayComeLate(context: CaseContext): Promise<void> {
  const forged = await ofEachType(context, async (deliver) => [
    await wrongSecret(deliver),
    await unsignedRequest(deliver),
  ]);
  for (const [name, request] of forged) {
    const answer = await sendPastLimiter(context, request);
    await expectNotAccepted(context, name, request.id, answer);
  }
  for (const type of context.settings.types) {
    const [one, other] = [await context.deliver({ type }), await context.deliver({ type })];
    await sendTwice(context, one);
    await sendConcurrently(context, other);
    for (const { id } of [one, other]) await context.settledRunsOf(id);
  }
}

async function expectNoMore(
  context: CaseContext,
  { id, runs, isForged }: LoggedDelivery,
): Promise<void> {
  const later = (await context.runsOf(id)) ?? 0;
  if (later <= Math.max(runs, isForged ? 0 : 1)) return;
  const what = isForged ? "a refused request" : "a delivery";
  throw context.failure(
    "handled_late",
    `${what} with the id ${id} was handled ${times(runs)} when its case ended, and ${times(later)} some time later`,
  );
}
