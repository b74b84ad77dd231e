import { UNMET } from "./conformance-rule.js";
import type { Delivery } from "./deliveries.js";
import { ensureTakesGenuine, times } from "./expectations.js";
import { isSentAgain, type Reply } from "./reply.js";
import { sendGenuine, sendUntilTaken } from "./send-genuine.js";
import { NotJudged, type Trial } from "./trial.js";

/** How many copies are sent at the same time. */
export const COPIES = 8;

/** Sends a delivery, and a copy of it; each has to be acknowledged. */
export async function sendTwice(
  trial: Trial,
  delivery: Delivery,
  copy = delivery,
): Promise<readonly Reply[]> {
  await ensureTakesGenuine(trial);
  const first = await sendGenuine(trial, delivery);
  if (first.verdict !== "acknowledged") {
    throw trial.failure(`the first: expected 2xx, got ${first.text}`);
  }
  const second = await sendGenuine(trial, copy);
  if (second.verdict !== "acknowledged") {
    throw trial.failure(`its copy: expected 2xx, got ${second.text}`);
  }
  return [first, second];
}

/** Sends copies at the same time, and one more until it is acknowledged. */
export async function sendCopies(trial: Trial, delivery: Delivery): Promise<readonly Reply[]> {
  await ensureTakesGenuine(trial);
  const replies = await Promise.all(Array.from({ length: COPIES }, () => trial.send(delivery)));
  for (const reply of replies) {
    if (reply.answer === undefined || !(isSentAgain(reply) || reply.verdict === "acknowledged")) {
      throw trial.failure(`a copy: expected 2xx or a retryable status, got ${reply.text}`);
    }
  }
  const last = await sendUntilTaken(trial, () => trial.send(delivery));
  if (last.verdict !== "acknowledged") {
    throw trial.failure(`the copy after them: expected 2xx, got ${last.text}`);
  }
  return [...replies, last];
}

/** By the probe; without one, by the outcomes that a receiver names in its answers, as ours does. */
export async function expectHandledOnce(
  trial: Trial,
  { id }: Delivery,
  copies: readonly Reply[],
): Promise<void> {
  const runs = await trial.settledRunsOf(id);
  if (runs !== undefined && runs !== 1) throw trial.failure(`it was handled ${times(runs)}`);
  if (runs !== undefined) return;
  const outcomes = copies.map(({ outcome }) => outcome);
  const handled = outcomes.filter((outcome) => outcome === "handled").length;
  if (handled > 1) throw trial.failure(`by its answers it was handled ${times(handled)}`);
  if (handled === 0 || outcomes.includes(undefined)) throw new NotJudged(UNMET.handled);
  trial.note("by the outcomes that the receiver names; with handled it is seen");
}
