import { setTimeout as wait } from "node:timers/promises";
import { outcomeOf } from "../sending/wire.js";
import { UNMET, type ConformanceRule } from "./conformance-rule.js";
import type { Delivery } from "./deliveries.js";
import { ensureTakesGenuine, expectTaken, times } from "./expectations.js";
import { isSentAgain, type Reply } from "./reply.js";
import { wrongSecret } from "./suspect-requests.js";
import { NotJudged, type Trial } from "./trial.js";

const COPIES = 8;
const DOUBLE = "A customer is told twice of one stolen identity, or a removal is asked for twice.";
const REMEMBER =
  "Remember the X-Webhook-Id of what was handled, in a store that all processes share.";

/** A delivery is handled once: not less, and not more. */
export const onceRules: readonly ConformanceRule[] = [
  {
    id: "duplicate_acknowledged",
    level: "must",
    title: "a copy of what was handled is acknowledged",
    why: "The gateway sends a copy where your first answer got lost, and goes on for 36 hours until one is acknowledged.",
    mend: "Answer 200 to an X-Webhook-Id that was handled (Events, rule 4).",
    async judge(trial) {
      await sendTwice(trial, trial.deliver);
    },
  },
  {
    id: "duplicate_handled_once",
    level: "must",
    title: "a copy of what was handled is not handled again",
    why: DOUBLE,
    mend: REMEMBER,
    async judge(trial) {
      const { delivery, replies } = await sendTwice(trial, trial.deliver);
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
      const body = (await trial.deliver()).body;
      const deliver: Trial["deliver"] = ({ id, age } = {}) => trial.deliver({ body, id, age });
      const { delivery, replies } = await sendTwice(trial, deliver, 45);
      await expectHandledOnce(trial, delivery, replies);
    },
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
      const reply = await trial.send(delivery);
      const runs = await trial.runsOf(delivery.id);
      if (reply.verdict === "acknowledged" && runs === 0) {
        throw trial.failure(`answered ${reply.text}, before it was handled`);
      }
      await expectTaken(trial, "a delivery", delivery.id, reply);
    },
  },
  {
    id: "failure_sent_again",
    level: "must",
    title: "a delivery whose handler fails is sent again, and handled then",
    needs: ["whileFailing"],
    why: "A database that is down for a minute costs the alarms of that minute: acknowledged or given up, none comes again.",
    mend: "Answer 500 or 503 when the handler fails, and do not remember the id as handled.",
    async judge(trial) {
      await ensureTakesGenuine(trial);
      const { whileFailing } = trial.settings;
      if (whileFailing === undefined) throw new NotJudged(UNMET.whileFailing);
      const delivery = await trial.deliver();
      const failed = await whileFailing(() => trial.send(delivery));
      if (!isSentAgain(failed) || failed.answer === undefined) {
        throw trial.failure(
          `while the handler fails: expected a retryable status, got ${failed.text}`,
        );
      }
      await expectTaken(trial, "the next copy", delivery.id, await sendUntilTaken(trial, delivery));
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
      await expectTaken(trial, "the genuine one", genuine.id, await trial.send(genuine));
    },
  },
];

/** Sends a delivery, and a copy of it; each has to be acknowledged. `age`: of the first, in seconds. */
async function sendTwice(
  trial: Trial,
  deliver: Trial["deliver"],
  age = 0,
): Promise<{ delivery: Delivery; replies: readonly Reply[] }> {
  await ensureTakesGenuine(trial);
  const delivery = await deliver({ age });
  const copy = age === 0 ? delivery : await deliver({ id: delivery.id });
  const first = await trial.send(delivery);
  if (first.verdict !== "acknowledged") {
    throw trial.failure(`the first: expected 2xx, got ${first.text}`);
  }
  const second = await trial.send(copy);
  if (second.verdict !== "acknowledged") {
    throw trial.failure(`its copy: expected 2xx, got ${second.text}`);
  }
  return { delivery, replies: [first, second] };
}

/** Sends copies at the same time, and one more until it is acknowledged. */
async function sendCopies(trial: Trial, delivery: Delivery): Promise<readonly Reply[]> {
  await ensureTakesGenuine(trial);
  const replies = await Promise.all(Array.from({ length: COPIES }, () => trial.send(delivery)));
  for (const reply of replies) {
    if (reply.answer === undefined || !(isSentAgain(reply) || reply.verdict === "acknowledged")) {
      throw trial.failure(`a copy: expected 2xx or a retryable status, got ${reply.text}`);
    }
  }
  const last = await sendUntilTaken(trial, delivery);
  if (last.verdict !== "acknowledged") {
    throw trial.failure(`the copy after them: expected 2xx, got ${last.text}`);
  }
  return [...replies, last];
}

/** Sends a copy again while it is told to, as the gateway would, but sooner. */
async function sendUntilTaken(trial: Trial, delivery: Delivery): Promise<Reply> {
  const until = performance.now() + trial.settings.timeoutMs;
  for (let pauseMs = 10; ; pauseMs = Math.min(2 * pauseMs, 1_000)) {
    const reply = await trial.send(delivery);
    if (!isSentAgain(reply) || performance.now() + pauseMs > until) return reply;
    await wait(pauseMs);
  }
}

/** By the probe; without one, by the outcomes that a receiver names in its answers, as ours does. */
async function expectHandledOnce(
  trial: Trial,
  { id }: Delivery,
  copies: readonly Reply[],
): Promise<void> {
  const runs = await trial.settledRunsOf(id);
  if (runs !== undefined && runs !== 1) throw trial.failure(`it was handled ${times(runs)}`);
  if (runs !== undefined) return;
  const outcomes = copies.map(({ answer }) => outcomeOf(answer?.body ?? ""));
  const handled = outcomes.filter((outcome) => outcome === "handled").length;
  if (handled > 1) throw trial.failure(`by its answers it was handled ${times(handled)}`);
  if (handled === 0 || outcomes.includes(undefined)) throw new NotJudged(UNMET.handled);
  trial.note("by the outcomes that the receiver names; with handled it is seen");
}
