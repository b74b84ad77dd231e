import { UNMET } from "./conformance-rule.js";
import { expectTaken } from "./expectations.js";
import { isSentAgain } from "./reply.js";
import { sendUntilTaken } from "./send-genuine.js";
import type { Trial } from "./trial.js";
import { whileHandler } from "./while-handler.js";

/**
 * Copies of a delivery, sent at the same time while its handler fails, are each sent again, and one of
 * them is handled afterwards: a 2xx to a copy in flight is the end of the alarm, too.
 */
export async function expectFailureSentAgain(trial: Trial, copies: number): Promise<void> {
  const delivery = await trial.deliver();
  const replies = await whileHandler(trial, "whileFailing", () =>
    Promise.all(Array.from({ length: copies }, () => trial.send(delivery))),
  );
  const name = copies === 1 ? "" : ", a copy in flight";
  for (const reply of replies) {
    if (!isSentAgain(reply) || reply.answer === undefined) {
      throw trial.failure(
        `while the handler fails${name}: expected a retryable status, got ${reply.text}`,
      );
    }
  }
  const next = await sendUntilTaken(trial, () => trial.send(delivery));
  await expectTaken(trial, "the next copy", delivery.id, next);
  if ((await trial.runsOf(delivery.id)) !== undefined) return;
  // A receiver that remembers what failed acknowledges the next copy, too.
  if (next.outcome !== "handled") trial.unseen(UNMET.handled);
  else trial.note("by the outcome that the receiver names; with handled it is seen");
}
