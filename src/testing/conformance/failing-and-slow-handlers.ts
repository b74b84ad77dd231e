import type { WebhookType } from "../../delivery/headers.js";
import { errorText } from "../sending/target.js";
import type { CaseContext } from "./case-context.js";
import type { HandlerOption } from "./conformance-options.js";
import { UNMET_NEEDS } from "./conformance-rule.js";
import { TRUSTED_OUTCOME } from "./duplicates.js";
import { expectAccepted } from "./expectations.js";
import { isRetried, type ReceiverAnswer } from "./receiver-answer.js";
import { sendUntilAcknowledged } from "./resending.js";

/**
 * Sends `requests` duplicates of a delivery at the same time while its handler fails. The gateway must send
 * each of them again, and the next one must be handled. A 2xx to a duplicate in flight would lose
 * the alarm too.
 */
export async function expectFailureRetried(
  context: CaseContext,
  type: WebhookType,
  requests: number,
): Promise<void> {
  const delivery = await context.deliver({ type });
  const answers = await whileHandler(context, "whileFailing", () =>
    Promise.all(Array.from({ length: requests }, () => context.send(delivery))),
  );
  const name = requests === 1 ? `, ${type}` : ", a duplicate in flight";
  for (const answer of answers) {
    if (!isRetried(answer) || answer.wire === undefined) {
      throw context.failure(
        `while the handler fails${name}: expected a retryable status, got ${answer.text}`,
      );
    }
  }
  const next = await sendUntilAcknowledged(context, () => context.send(delivery));
  await expectAccepted(context, "the next retry", delivery.id, next);
  if ((await context.runsOf(delivery.id)) !== undefined) return;
  // A receiver that remembers a failed id as handled also acknowledges the next retry.
  if (next.outcome !== "handled") context.leaveUnjudged(UNMET_NEEDS.handled);
  else context.note(TRUSTED_OUTCOME);
}

/**
 * Sends a delivery whose handler finishes after the answer. Its retries must be acknowledged, and it must be
 * handled once.
 */
export async function expectLateSuccessCounts(context: CaseContext): Promise<void> {
  const { id, body } = await context.deliver();
  const attempt = async () => context.send(await context.deliver({ id, body }));
  const answers = await whileHandler(context, "whileSlow", async () => [await attempt()]);
  let wasAwaited = false;
  for (const answer of answers) {
    wasAwaited = answer.result === "acknowledged";
    if (!wasAwaited && !isRetried(answer)) {
      throw context.failure(
        `while the handler is slow: expected 2xx or a retryable status, got ${answer.text}`,
      );
    }
  }
  const retry = await sendUntilAcknowledged(context, attempt);
  await expectAccepted(context, "a retry after the slow handler has finished", id, retry);
  if ((await context.runsOf(id)) === undefined) {
    // "handled" proves nothing here: the late handler may have had its effect as well.
    if (retry.outcome === "duplicate") context.note(TRUSTED_OUTCOME);
    else context.leaveUnjudged(UNMET_NEEDS.handled);
  } else if (wasAwaited) {
    context.note(
      "the receiver waited for the slow handler: make it slower than the receiver's time-out",
    );
  }
}

/** Does `work` under an option that the rule needs. Returns its answers, even if the option does not. */
async function whileHandler(
  context: CaseContext,
  option: HandlerOption,
  work: () => Promise<readonly ReceiverAnswer[]>,
): Promise<readonly ReceiverAnswer[]> {
  let answers: readonly ReceiverAnswer[] | undefined;
  try {
    await context.settings[option]?.(async () => {
      answers = await work();
    });
  } catch (error) {
    throw context.failure(`the option ${option} failed: ${errorText(error)}`);
  }
  if (answers === undefined) {
    throw context.failure(`the option ${option} must call and await its argument`);
  }
  return answers;
}
