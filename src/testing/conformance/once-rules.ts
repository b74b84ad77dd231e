import type { ConformanceRule } from "./conformance-rule.js";
import { COPIES, expectHandledOnce, sendCopies, sendTwice } from "./copies.js";
import { ensureTakesGenuine, expectTaken } from "./expectations.js";
import { expectCopiesToldById } from "./copy-by-id.js";
import { expectFailureSentAgain } from "./failing-handler.js";
import { expectLateHandlerCounted } from "./late-handler.js";
import { sendGenuine } from "./send-genuine.js";
import { expectToldApart } from "./similar-ids.js";
import { wrongSecret } from "./suspect-requests.js";

const DOUBLE = "A customer is told twice of one stolen identity, or a removal is asked for twice.";
const REMEMBER =
  "Remember the X-Webhook-Id of what was handled, in a store that all processes share.";
const HANDLED_LATER =
  "it was handled only after the answer: right where it was in a queue that survives the process, and then handled should count what is in the queue";

/** A delivery is handled once: not less, and not more. */
export const onceRules: readonly ConformanceRule[] = [
  {
    id: "duplicate_acknowledged",
    level: "must",
    title: "a copy of what was handled is acknowledged",
    why: "The gateway sends a copy where your first answer got lost, and goes on for 36 hours until one is acknowledged.",
    mend: "Answer 200 to an X-Webhook-Id that was handled (Events, rule 4).",
    async judge(trial) {
      await sendTwice(trial, await trial.deliver());
    },
  },
  {
    id: "duplicate_handled_once",
    level: "must",
    title: "a copy of what was handled is not handled again",
    why: `${DOUBLE} Where ids are cut or folded, another alarm is taken for a copy, and lost.`,
    mend: `${REMEMBER} Remember the whole of it, letter by letter.`,
    async judge(trial) {
      const delivery = await trial.deliver();
      const replies = await sendTwice(trial, delivery);
      await expectToldApart(trial);
      await expectHandledOnce(trial, delivery, replies);
    },
  },
  {
    id: "retry_signed_anew",
    level: "must",
    title: "a copy with a new timestamp and signature is not handled again",
    why: `The id alone is stable across retries. ${DOUBLE}`,
    mend: `${REMEMBER} Never the signature or the timestamp.`,
    async judge(trial) {
      const delivery = await trial.deliver({ age: 45 });
      const copy = await trial.deliver({ id: delivery.id, body: delivery.body });
      await expectHandledOnce(trial, delivery, await sendTwice(trial, delivery, copy));
    },
  },
  {
    id: "copy_by_id_alone",
    level: "must",
    title: "a copy is told by its id, and not by its body",
    why: `The id alone is stable across retries: what is built anew may be other bytes. ${DOUBLE}`,
    mend: `${REMEMBER} Never the body, or a hash of it.`,
    judge: expectCopiesToldById,
  },
  {
    id: "concurrent_copies",
    level: "must",
    title: "of copies at the same time each is acknowledged or sent again",
    why: "A copy that comes while the first is being handled is given up, and with it the alarm if the first one fails.",
    mend: "Answer 409 to a copy of what is being handled.",
    async judge(trial) {
      const delivery = await trial.deliver();
      await sendCopies(trial, delivery);
    },
  },
  {
    id: "concurrent_copies_handled_once",
    level: "must",
    title: "of copies at the same time one is handled",
    why: DOUBLE,
    mend: "Claim the X-Webhook-Id by one atomic operation before the handler runs.",
    async judge(trial) {
      const delivery = await trial.deliver();
      const replies = await sendCopies(trial, delivery);
      await expectHandledOnce(trial, delivery, replies);
    },
  },
  {
    id: "acknowledged_after_handling",
    level: "must",
    title: "a delivery is handled before it is acknowledged",
    needs: ["handled"],
    why: "A process that ends between the answer and the handler loses the alarm: the gateway was told that all is well.",
    mend: "Answer when the handler has finished, or when the delivery is in a queue that survives you.",
    async judge(trial) {
      await ensureTakesGenuine(trial);
      const delivery = await trial.deliver();
      const reply = await sendGenuine(trial, delivery);
      const runs = await trial.runsOf(delivery.id);
      await expectTaken(trial, "a delivery", delivery.id, reply);
      if (runs === 0) trial.unseen(HANDLED_LATER);
    },
  },
  {
    id: "failure_sent_again",
    level: "must",
    title: "a delivery whose handler fails is sent again, and handled then",
    needs: ["whileFailing"],
    why: "A database that is down for a minute costs the alarms of that minute: acknowledged or given up, none comes again.",
    mend: "Answer 500 or 503 when the handler fails, and do not remember the id as handled. Answer 409 to a copy of what is being handled.",
    async judge(trial) {
      await ensureTakesGenuine(trial);
      await expectFailureSentAgain(trial, 1);
      await expectFailureSentAgain(trial, COPIES);
    },
  },
  {
    id: "late_handler_counts",
    level: "must",
    title: "a retry after a handler that finished late is acknowledged, and not handled again",
    needs: ["whileSlow"],
    why: "A handler that outlasts its time-out still has its effect. Answered 409 for ever its retries are used up, and forgotten it is handled twice.",
    mend: "Keep the X-Webhook-Id claimed until the late handler settles, then remember it as handled, or release it if it failed. Where the request's context ends with the answer, pass waitUntil to the receiver.",
    async judge(trial) {
      await ensureTakesGenuine(trial);
      await expectLateHandlerCounted(trial);
    },
  },
  {
    id: "forged_copy",
    level: "must",
    title: "a forged request with the id of a genuine delivery does not block it",
    why: "Whoever learns or guesses an id could have its alarm taken for handled.",
    mend: "Store nothing of a request before its signature is good.",
    async judge(trial) {
      await ensureTakesGenuine(trial);
      const [, forged] = await wrongSecret(trial.deliver);
      await trial.send(forged);
      const genuine = await trial.deliver({ id: forged.id });
      await expectTaken(trial, "the genuine one", genuine.id, await sendGenuine(trial, genuine));
    },
  },
];
