import { retriesAfterFailureRules } from "./after-failure-rules.js";
import { concurrentDeliveryRules } from "./concurrent-rules.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { expectRetriesRecognised } from "./differing-retries.js";
import {
  expectConcurrentHandledOnce,
  expectDuplicatesByIdAlone,
  expectDuplicatesHandledOnce,
  expectRemembered,
  expectSimilarIdsToldApart,
  sendConcurrently,
  sendTwice,
} from "./duplicates.js";
import { expectAccepted } from "./expectations.js";
import { expectEachFailureRetried, expectFailureRetried } from "./failing-handlers.js";
import { hangUpRules } from "./hang-up-rule.js";
import { refusedIdRules } from "./refused-id-rules.js";
import { sendGenuine } from "./resending.js";
import { sameAccountRules } from "./same-account-rule.js";
import { expectLateFailureReleased, expectLateSuccessCounts } from "./slow-handlers.js";

const TWICE =
  "A customer is warned twice about one stolen identity, or a removal is ordered twice.";
const REMEMBER =
  "Remember the X-Webhook-Id of each handled delivery in a store that all processes share.";

/** Each delivery must be handled exactly once. */
export const idempotencyRules: ConformanceRules = {
  duplicate_acknowledged: {
    title: "a duplicate of a handled delivery is acknowledged",
    why: "If your first answer is lost, the gateway sends the delivery again, for up to 36 hours, until an answer acknowledges it.",
    fix: "Answer 200 to an X-Webhook-Id that was handled (Events, rule 4).",
    async check(context) {
      await sendTwice(context, await context.deliver());
    },
  },
  duplicate_handled_once: {
    title: "a duplicate of a handled delivery is not handled again",
    why: `${TWICE} If ids are truncated or compared without letter case, a new alarm counts as a duplicate and is lost.`,
    fix: `${REMEMBER} Keep the whole id, with its letter case.`,
    async check(context) {
      await expectSimilarIdsToldApart(context);
      await expectDuplicatesHandledOnce(context);
    },
  },
  retry_with_new_signature: {
    title:
      "a retry with a new timestamp and signature, from another address and agent, is not handled again",
    why: `Only the id is the same in each retry. ${TWICE}`,
    fix: `${REMEMBER} Do not use the signature, the timestamp or any other header.`,
    check: expectRetriesRecognised,
  },
  duplicate_by_id_alone: {
    title: "a duplicate is recognised by its id, not by its body",
    why: `Only the id is the same in each retry: a retry may write the same record in other bytes. ${TWICE}`,
    fix: `${REMEMBER} Do not use the body or a hash of it.`,
    check: expectDuplicatesByIdAlone,
  },
  duplicate_after_others: {
    title: "a duplicate is recognised a second and many deliveries later",
    why: `The gateway sends a delivery again for up to 36 hours. ${TWICE}`,
    fix: "Remember each X-Webhook-Id for 72 hours or longer, however many deliveries arrive meanwhile.",
    check: expectRemembered,
  },
  concurrent_duplicates: {
    title: "each of several concurrent duplicates is acknowledged or gets a retryable status",
    why: "If a duplicate in flight gets a final status and the first handler then fails, the alarm is lost.",
    fix: "Answer 409 to a duplicate of a delivery that is being handled.",
    async check(context) {
      for (const type of context.settings.types)
        await sendConcurrently(context, await context.deliver({ type }));
    },
  },
  concurrent_duplicates_handled_once: {
    title: "one of several concurrent duplicates is handled",
    why: TWICE,
    fix: "Claim the X-Webhook-Id with one atomic operation before the handler runs.",
    check: expectConcurrentHandledOnce,
  },
  ...concurrentDeliveryRules,
  ...sameAccountRules,
  acknowledged_after_handling: {
    title: "a delivery is handled before it is acknowledged",
    needs: ["handled"],
    why: "A process that dies between the answer and the handler loses the alarm: the gateway takes it as received.",
    fix: "Answer when the handler has finished, or when the delivery is in a queue that survives the process.",
    async whenAccepted(context) {
      for (const type of context.settings.types) {
        const delivery = await context.deliver({ type });
        const answer = await sendGenuine(context, delivery);
        const runs = await context.runsOf(delivery.id);
        await expectAccepted(context, type, delivery.id, answer);
        if (runs === 0) context.leaveUnjudged("handled_before_answer");
      }
    },
  },
  failure_sent_again: {
    title: "a delivery whose handler fails is sent again and then handled",
    needs: ["whileFailing"],
    why: "A database that is down for a minute costs all alarms of that minute: acknowledged or given up, none is sent again.",
    fix: "Answer 500 or 503 when the handler fails, and do not remember the id as handled. Answer 409 to a duplicate of a delivery that is being handled.",
    whenAccepted: expectFailureRetried,
  },
  ten_failures_sent_again: {
    title: "a delivery whose handler fails ten times in a row is sent again each time",
    needs: ["whileFailing"],
    why: "The gateway tries a delivery ten times. A receiver that acknowledges it after a few failures, as dead or because a circuit breaker is open, loses every alarm of a long failure.",
    fix: "Count no failures towards a 2xx: answer 500 or 503 until the handler succeeds. A circuit breaker that is open answers 503.",
    whenAccepted: expectEachFailureRetried,
  },
  ...retriesAfterFailureRules,
  late_handler_counts: {
    title:
      "the retries of a delivery whose handler is late do not run it again and get no early 2xx",
    needs: ["whileSlow"],
    why: "A handler that outlasts its time-out still has its effect. If each retry gets 409, the retries are used up; if the id is forgotten, the alarm is handled twice.",
    fix: "Keep the X-Webhook-Id claimed until the late handler settles, and answer 409 to it meanwhile. Then remember it as handled, or release it if the handler failed. If the platform ends a request's work with the answer, pass waitUntil to the receiver.",
    whenAccepted: expectLateSuccessCounts,
  },
  late_failure_released: {
    title: "a delivery whose handler fails after its time-out is sent again and then handled",
    needs: ["whileFailing", "whileSlow"],
    why: "A slow database often fails in the end. If the id stays remembered or locked, each retry is taken for a duplicate, and the alarm is lost.",
    fix: "Remember an id only when its handler has succeeded, and release it when a late handler fails.",
    whenAccepted: expectLateFailureReleased,
  },
  ...hangUpRules,
  ...refusedIdRules,
};
