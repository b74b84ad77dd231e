import type { CaseContext } from "./case-context.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { expectAccepted, expectNotAccepted } from "./expectations.js";
import { isRetried, type ReceiverAnswer } from "./receiver-answer.js";
import { sendPastLimiter, sendUntilAcknowledged } from "./resending.js";
import { each, inGroups, type Delivery } from "./test-deliveries.js";
import { wrongSecret } from "./unverifiable-requests.js";

/** How many different deliveries are sent at the same time. */
const AT_ONCE = 64;
const FORGERIES = 6;
const SHARE_NOTHING =
  "Keep nothing of a request in a variable that requests share, such as one of the module or of a singleton.";

/** Different deliveries at the same time must each be handled. */
export const concurrentDeliveryRules: ConformanceRules = {
  concurrent_deliveries: {
    title: "each of several deliveries that arrive at the same time is handled once",
    why: "After a breach the gateway sends many alarms at once. A receiver that mixes them up handles some of them twice and others never.",
    fix: `${SHARE_NOTHING} If the receiver is busy, answer 503 with Retry-After, never 2xx.`,
    async whenAccepted(context) {
      const deliveries = await deliveriesOfAllTypes(context, AT_ONCE);
      // Each on its own connection: a stale one could send a delivery twice.
      const sent = deliveries.map(
        async (delivery) => [delivery, await context.sendAlone(delivery)] as const,
      );
      await expectEachHandledOnce(context, await Promise.all(sent), "at the same time");
    },
  },
};

/** A forgery must be refused also while genuine deliveries are being verified. */
export const concurrentForgeryRules: ConformanceRules = {
  concurrent_forgeries: {
    title: "a forged delivery that arrives together with genuine ones is refused",
    why: "If requests share a variable, the good signature of one lets another one in.",
    fix: SHARE_NOTHING,
    async whenAccepted(context) {
      const genuine = await deliveriesOfAllTypes(context, FORGERIES);
      const forged = await each(genuine, async () => {
        const [, request] = await wrongSecret(context.deliver);
        return request;
      });
      // In turn, so that a genuine delivery follows each forgery.
      const sent = genuine.flatMap((delivery, at) => {
        const forgery = forged[at] ?? delivery;
        const send = (): Promise<ReceiverAnswer> => context.sendAlone(forgery);
        return [sendPastLimiter(context, forgery, send), context.sendAlone(delivery)];
      });
      const answers = await Promise.all(sent);
      for (const [at, { id }] of forged.entries()) {
        const answer = answers[2 * at];
        if (answer === undefined) continue;
        await expectNotAccepted(context, "a forgery beside genuine deliveries", id, answer);
      }
    },
  },
};

/** Makes deliveries, of each registered type in turn. */
export function deliveriesOfAllTypes(
  { deliver, settings: { types } }: CaseContext,
  count: number,
): Promise<readonly Delivery[]> {
  return Promise.all(
    Array.from({ length: count }, (_, at) => deliver({ type: types[at % types.length] })),
  );
}

/**
 * Each delivery must be acknowledged, if need be when it is sent again, and handled once. `which` says for a
 * message which deliveries these are.
 */
export async function expectEachHandledOnce(
  context: CaseContext,
  sent: readonly (readonly [Delivery, ReceiverAnswer])[],
  which: string,
): Promise<void> {
  await inGroups(context, [...sent.entries()], async ([at, [delivery, first]]) => {
    const again = (): Promise<ReceiverAnswer> => context.sendAlone(delivery);
    const answer = isRetried(first) ? await sendUntilAcknowledged(context, again) : first;
    const name = `delivery ${at + 1} of ${sent.length} ${which}`;
    await expectAccepted(context, name, delivery.id, answer);
    if (context.settings.handled !== undefined) return;
    // A delivery that was refused at first may have been handled all the same.
    if (answer === first && answer.outcome === "duplicate") {
      const what = "as a duplicate of another delivery";
      throw context.failureAfter("taken_for_duplicate", name, answer, what);
    }
    if (answer.outcome === undefined) context.leaveUnjudged("handled");
    else context.noteTrustedOutcome();
  });
}
