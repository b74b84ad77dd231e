import { UNMET } from "./conformance-rule.js";
import { expectTaken } from "./expectations.js";
import { isSentAgain } from "./reply.js";
import { sendUntilTaken } from "./send-genuine.js";
import type { Trial } from "./trial.js";
import { whileHandler } from "./while-handler.js";

/** A delivery whose handler finishes after the answer: its retries are acknowledged, and it is handled once. */
export async function expectLateHandlerCounted(trial: Trial): Promise<void> {
  const { id, body } = await trial.deliver();
  const attempt = async () => trial.send(await trial.deliver({ id, body }));
  const replies = await whileHandler(trial, "whileSlow", async () => [await attempt()]);
  let wasAwaited = false;
  for (const reply of replies) {
    wasAwaited = reply.verdict === "acknowledged";
    if (!wasAwaited && !isSentAgain(reply)) {
      throw trial.failure(
        `while the handler is slow: expected 2xx or a retryable status, got ${reply.text}`,
      );
    }
  }
  const retry = await sendUntilTaken(trial, attempt);
  await expectTaken(trial, "a retry after the slow handler has finished", id, retry);
  if ((await trial.runsOf(id)) === undefined) {
    // What the receiver calls handled only now may have been handled late, too.
    if (retry.outcome === "duplicate") {
      trial.note("by the outcome that the receiver names; with handled it is seen");
    } else trial.unseen(UNMET.handled);
  } else if (wasAwaited) {
    trial.note("the slow handler was awaited: make it slower than the receiver's own time-out");
  }
}
