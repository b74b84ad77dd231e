import { setTimeout as wait } from "node:timers/promises";
import type { CaseContext } from "./case-context.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { KeptConnection } from "./connections.js";
import {
  expectConcurrentHandledOnce,
  expectDuplicatesByIdAlone,
  expectDuplicatesHandledOnce,
  expectEachHandledOnce,
  expectHandledOnce,
  expectRemembered,
  expectRetriesRecognised,
  expectSimilarIdsToldApart,
  sendConcurrently,
  sendTwice,
} from "./duplicates.js";
import {
  expectEachFailureRetried,
  expectFailureRetried,
  expectLateFailureReleased,
  expectLateSuccessCounts,
} from "./handler-failures.js";
import { failedDelivery, whileHandler } from "./handler-switches.js";
import { lookalikes } from "./records.js";
import { expectNoIdBlocked, expectNoIdForgotten, expectNothingLate } from "./refused-ids.js";
import {
  each,
  inPool,
  OTHER_SECRET,
  sampleText,
  SIGNATURE,
  type Delivery,
} from "./test-deliveries.js";
import { sendTogether } from "./transport-checks.js";

const TWICE =
  "A customer is warned twice about one stolen identity, or a removal is ordered twice.";
const REMEMBER =
  "Remember the X-Webhook-Id of each handled delivery in a store that all processes share.";
const CHECK_FIRST =
  "Read and write the memory of handled ids only when the signature, the timestamp and the type are verified, and write it only when the handler has succeeded.";
/** How many different deliveries are sent at the same time. */
const AT_ONCE = 64;
/** How long after the upload the sender hangs up. A quick receiver may have answered by then. */
const HANG_UP_AFTER_MS = [0, 5, 20] as const;
const AFTER_HANG_UP = "a retry after the sender hung up";
/** The same while the handler is slow, so that it surely runs; and when the retry follows. */
const MEANWHILE_MS = 100;

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
    level: "should",
    title: "a duplicate is recognised by its id, not by its body",
    why: `The id alone says which delivery it is. The gateway repeats the body too, as far as its document tells: were a retry to write the same record in other bytes, it would be refused or handled again. ${TWICE}`,
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
  concurrent_deliveries: {
    title: "each of several deliveries that arrive at the same time is handled once",
    why: "After a breach the gateway sends many alarms at once. A receiver that mixes them up handles some of them twice and others never.",
    fix: "Keep nothing of a request in a variable that requests share, such as one of the module or of a singleton. If the receiver is busy, answer 503 with Retry-After, never 2xx.",
    async whenAccepted(context) {
      const { url } = context.settings;
      const sent =
        url === undefined
          ? await each(await context.ofAllTypes(AT_ONCE), sendAlone(context))
          : await sendTogether(context, url, AT_ONCE);
      await expectEachHandledOnce(context, sent, "at the same time");
    },
  },
  same_account: {
    title: "different deliveries about the same account are each handled once",
    why: "A leak often makes several alarms for one customer in one second. A receiver that compares accounts, types, sites or dates takes the second one for a duplicate, and it is lost.",
    fix: "Recognise a duplicate by its X-Webhook-Id alone.",
    async whenAccepted(context) {
      const send = sendAlone(context);
      await context.inGroups(context.settings.types, async (type) => {
        const make = (record: Record<string, unknown>): Promise<Delivery> =>
          context.deliver({ type, body: sampleText(type, record) });
        const inTurn = await inPool(await each(lookalikes(type), make), 1, send);
        await expectEachHandledOnce(context, inTurn, "with much in common");
        const atOnce = await each(await each(lookalikes(type), make), send);
        await expectEachHandledOnce(context, atOnce, "with much in common, at the same time");
      });
    },
  },
  acknowledged_after_handling: {
    title: "a delivery is handled before it is acknowledged",
    needs: ["handled"],
    why: "A process that dies between the answer and the handler loses the alarm: the gateway takes it as received.",
    fix: "Answer when the handler has finished, or when the delivery is in a queue that survives the process.",
    async whenAccepted(context) {
      for (const type of context.settings.types) {
        const delivery = await context.deliver({ type });
        const answer = await context.sendGenuine(delivery);
        const runs = await context.runsOf(delivery.id);
        await context.expectAccepted(type, delivery.id, answer);
        if (runs === 0) context.leaveUnjudged("handled_before_answer");
      }
    },
  },
  failure_sent_again: {
    title: "a delivery whose handler fails is sent again and then handled",
    needs: ["whileFailing"],
    why: "A database that is down for a minute costs all alarms of that minute: acknowledged or given up, none is sent again.",
    fix: "Answer 500 or 503 when the handler fails, and do not remember the id as handled. Answer 409 to a duplicate of a delivery that is being handled.",
    cause: "hold",
    whenAccepted: expectFailureRetried,
  },
  ten_failures_sent_again: {
    title: "a delivery whose handler fails ten times in a row is sent again each time",
    needs: ["whileFailing"],
    why: "The gateway tries a delivery ten times. A receiver that acknowledges it after a few failures, as dead or because a circuit breaker is open, loses every alarm of a long failure.",
    fix: "Count no failures towards a 2xx: answer 500 or 503 until the handler succeeds. A circuit breaker that is open answers 503. Keep the ids in a store that outlives a failure.",
    cause: "early",
    whenAccepted: expectEachFailureRetried,
  },
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
  late_handler_counts: {
    title:
      "the retries of a delivery whose handler is late do not run it again and get no early 2xx",
    needs: ["whileSlow"],
    why: "A handler that outlasts its time-out still has its effect. If each retry gets 409, the retries are used up; if the id is forgotten, the alarm is handled twice.",
    fix: "Keep the X-Webhook-Id claimed until the late handler settles, and answer 409 to it meanwhile. Then remember it as handled, or release it if the handler failed. If the platform ends a request's work with the answer, pass waitUntil to the receiver.",
    cause: "hold",
    whenAccepted: expectLateSuccessCounts,
  },
  late_handler_answered: {
    level: "should",
    title: "a delivery whose handler is slow gets an answer meanwhile",
    needs: ["whileSlow"],
    why: "The gateway's document names no time-out of its own. A connection that waits for a handler that hangs is held until one side gives up, and then no one knows whether the alarm was handled.",
    fix: "Answer 503 when the handler takes too long, and keep its X-Webhook-Id claimed.",
    cause: "silence",
    async whenAccepted(context) {
      const delivery = await context.deliver();
      const answer = await whileHandler(context, "whileSlow", () => context.send(delivery));
      context.expect(answer.wire !== undefined, "a slow handler", "an answer", answer);
    },
  },
  late_failure_released: {
    title: "a delivery whose handler fails after its time-out is sent again and then handled",
    needs: ["whileFailing", "whileSlow"],
    why: "A slow database often fails in the end. If the id stays remembered or locked, each retry is taken for a duplicate, and the alarm is lost.",
    fix: "Remember an id only when its handler has succeeded, and release it when a late handler fails.",
    cause: "hold",
    whenAccepted: expectLateFailureReleased,
  },
  hang_up: {
    title: "a delivery whose sender hangs up before the answer is handled once when it comes again",
    why: "A gateway or a proxy that runs out of patience hangs up and sends the delivery again. If the id stays locked or counts as handled, the alarm is lost; if it is freed while the handler runs, it is handled twice.",
    fix: "Let the handler finish although no one waits, and keep its X-Webhook-Id claimed until then. If you cancel it, release the id after it has stopped.",
    cause: "hold",
    // It makes the handler slow, if it can.
    runsAlone: true,
    async atUrl(context, url) {
      const hungUp = await each(HANG_UP_AFTER_MS, (afterMs) => hangUp(context, url, afterMs));
      for (const delivery of hungUp) await context.acceptInTheEnd(AFTER_HANG_UP, delivery);
      if (context.settings.whileSlow === undefined) return;
      const slow = await whileHandler(context, "whileSlow", async () => {
        const delivery = await hangUp(context, url, MEANWHILE_MS);
        // A server notices a closed connection a little later.
        await wait(MEANWHILE_MS);
        await context.sendAgain(delivery);
        return delivery;
      });
      await context.acceptInTheEnd(AFTER_HANG_UP, slow);
    },
  },
  forged_duplicate: {
    title: "a refused request with the id of a genuine delivery does not block it",
    why: "Someone who learns or guesses an id could make its alarm count as handled. A delivery that you could not read would be lost when the gateway sends it again.",
    fix: CHECK_FIRST,
    whenAccepted: expectNoIdBlocked,
  },
  forged_known_id: {
    level: "should",
    title: "a forged request with the id of a handled delivery is refused",
    why: "The answer tells a stranger which ids you have handled, and a receiver that keeps its answers gives him the one of the delivery.",
    fix: CHECK_FIRST,
    async whenAccepted(context) {
      for (const type of context.settings.types) {
        const delivery = await context.deliver({ type });
        await context.accept("a delivery", delivery);
        const forged = [delivery.signedWith(OTHER_SECRET), delivery.withHeader(SIGNATURE)];
        await context.inGroups(forged, async (request) => {
          const answer = await context.sendPastLimiter(request);
          context.expect(answer.result !== "acknowledged", "a known id", "a refusal", answer);
        });
      }
    },
  },
  refusal_forgets_nothing: {
    title: "a refused request with the id of a handled delivery does not make it forgotten",
    why: "Anyone who learns an id could have its alarm handled again at the next retry. A customer is warned twice.",
    fix: `${CHECK_FIRST} Release an id only if this request had claimed it.`,
    whenAccepted: expectNoIdForgotten,
  },
  late_effects: {
    title: "nothing that was refused or handled once is handled later",
    needs: ["handled"],
    why: "A receiver that refuses a delivery but keeps it handles a forgery, or handles an alarm again that the gateway sends again.",
    fix: "Put nothing into a queue that you refuse, and nothing that is a duplicate.",
    cause: "fix",
    whenAccepted: expectNothingLate,
  },
};

/** On its own connection, or a stale connection could send it twice: a duplicate of itself. */
function sendAlone(context: CaseContext) {
  return async (delivery: Delivery) => [delivery, await context.sendAlone(delivery)] as const;
}

/** Sends a delivery and hangs up. */
async function hangUp(context: CaseContext, url: URL, afterMs: number): Promise<Delivery> {
  const delivery = await context.deliver();
  const connection = new KeptConnection(url, context.settings);
  await context.sendBy(delivery, () => connection.sendAndHangUp(delivery, afterMs));
  connection.close();
  return delivery;
}
