import type { CaseContext } from "./case-context.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { expectHandledOnce, sendConcurrently } from "./duplicates.js";
import { expectAccepted, expectNotAccepted, type NamedDeliveries } from "./expectations.js";
import { whileHandler } from "./failing-handlers.js";
import { isRetried } from "./receiver-answer.js";
import { SIGNATURE, signedWith, textOf, withBody, withHeader } from "./request-changes.js";
import { sendPastLimiter, sendUntilAcknowledged } from "./resending.js";
import { COMPUTE_SIGNATURE } from "./rule-kinds.js";
import type { Delivery, DeliveryChanges } from "./test-deliveries.js";

/** A failure leaves the id free, and nothing else behind. */
export const retriesAfterFailureRules: ConformanceRules = {
  retries_at_once_after_failure: {
    title: "one of several concurrent retries of a failed delivery is handled",
    needs: ["whileFailing"],
    why: "Retries that were delayed by a proxy, or sent by two workers, arrive together. A receiver that finds the row of the failed attempt and runs it again without a lock handles it twice.",
    fix: "Claim the X-Webhook-Id of a failed delivery with the same atomic operation as a new one.",
    async whenAccepted(context) {
      for (const type of context.settings.types) {
        const failed = await failedDelivery(context, { type });
        if (failed === undefined) continue;
        await expectHandledOnce(context, failed, await sendConcurrently(context, failed));
      }
    },
  },
};

/** After a failure the receiver knows the id and its signature, and waits for the delivery to come again. */
export const forgedAfterFailureRules: ConformanceRules = {
  forged_after_failure: {
    title: "a changed body is refused also with the headers of a delivery whose handler failed",
    needs: ["whileFailing"],
    why: "A receiver that remembers that an id or a signature was good takes any body with it. Who has captured one delivery can then change the alarm.",
    fix: `${COMPUTE_SIGNATURE}, for each request anew.`,
    async whenAccepted(context) {
      const failed = await failedDelivery(context);
      if (failed === undefined) return;
      const text = textOf(failed).replace(/"account_id":\d+/, '"account_id":987654');
      const changed = withBody(failed, text);
      const forgeries: NamedDeliveries = [
        ["the headers", changed],
        ["the id and no signature", withHeader(changed, SIGNATURE)],
        ["the id and another secret", signedWith(changed, "whsec_of_another_webhook")],
      ];
      for (const [what, forged] of forgeries) {
        const name = `another account_id with ${what} of a delivery that failed`;
        await expectNotAccepted(context, name, forged.id, await sendPastLimiter(context, forged));
      }
      // From now on its id may be handled.
      context.suite.log.forget(failed.id);
      const next = await sendUntilAcknowledged(context, () => context.send(failed));
      await expectAccepted(context, "the genuine retry after these forgeries", failed.id, next);
    },
  },
};

/** A delivery whose handler has failed. Undefined for a queue, which may handle it by itself. */
async function failedDelivery(
  context: CaseContext,
  changes?: DeliveryChanges,
): Promise<Delivery | undefined> {
  const delivery = await context.deliver(changes);
  const send = async () => [await context.send(delivery)];
  const [answer] = await whileHandler(context, "whileFailing", send);
  if (answer !== undefined && isRetried(answer)) return delivery;
  context.leaveUnjudged("handled_before_answer");
  return undefined;
}
