import { setTimeout as wait } from "node:timers/promises";
import type { WebhookType } from "../../src/delivery/headers.js";
import type { CaseContext } from "./case-context.js";
import { ConformanceFailure } from "./conformance-case.js";
import type { HandlerOption } from "./conformance-options.js";
import { expectAccepted, timesIn } from "./expectations.js";
import { isRetried, type ReceiverAnswer } from "./receiver-answer.js";
import { sendUntilAcknowledged } from "./resending.js";

/** When duplicates of a delivery arrive whose handler is slow. */
const DUPLICATES_AFTER_MS = [100, 400] as const;
/** No time-out of a handler is as short as this. */
const AT_ONCE_MS = 50;
/** A platform that freezes the process may leave the lease of a late failure to end by itself. */
const LEASE_MS = 60_000;
/** The answer to the first request may come a little later than the one to a duplicate that waited for it. */
const SAME_TIME_MS = 100;

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
      throw context.unexpected(`while the handler fails${name}`, "a retryable status", answer);
    }
  }
  const next = await sendUntilAcknowledged(context, () => context.send(delivery));
  await expectAccepted(context, "the next retry", delivery.id, next);
  await trustOutcome(context, delivery.id, next);
}

/**
 * Sends a delivery whose handler finishes after the answer, and duplicates of it meanwhile. None of them may be
 * acknowledged before it is handled. Its later retries must be acknowledged, and it must be handled once.
 */
export async function expectLateSuccessCounts(context: CaseContext): Promise<void> {
  const { id, body } = await context.deliver();
  const attempt = async () => context.send(await context.deliver({ id, body }));
  const answers = await whileHandler(context, "whileSlow", () =>
    sendWhileItRuns(context, id, attempt),
  );
  ensureNoneGivenUp(context, answers);
  const retry = await sendUntilAcknowledged(context, attempt);
  await expectAccepted(context, "a retry after the slow handler has finished", id, retry);
  if ((await context.runsOf(id)) === undefined) {
    // "handled" proves nothing here: the late handler may have had its effect as well.
    if (retry.outcome === "duplicate") context.noteTrustedOutcome();
    else context.leaveUnjudged("handled");
  } else if (answers[0]?.result === "acknowledged") {
    context.note(
      "the receiver waited for the slow handler: make it slower than the receiver's time-out",
    );
  }
}

/** Sends a delivery whose handler fails after the answer. It must be sent again, and then be handled once. */
export async function expectLateFailureReleased(context: CaseContext): Promise<void> {
  const { id, body } = await context.deliver();
  const attempt = async () => context.send(await context.deliver({ id, body }));
  // The slow handlers end before `whileSlow` does, so that each of them fails.
  const answers = await whileHandler(context, "whileFailing", () =>
    whileHandler(context, "whileSlow", () => sendWhileItRuns(context, id, attempt)),
  );
  ensureNoneGivenUp(context, answers);
  const early = answers.find(({ result }) => result === "acknowledged");
  if (early !== undefined) {
    const runs = await context.settledRunsOf(id);
    if (runs === 0) {
      const name = "while the handler is slow and then fails";
      throw context.failureAfter("not_handled", name, early, `but handled ${timesIn(context, 0)}`);
    }
    if (runs === undefined) throw context.notJudged("handled");
    throw context.notJudged(
      "slow_then_failing",
      "the handler succeeded although it was to be slow and then fail: let it fail after it was slow",
    );
  }
  const answeredAfterMs = answers[0]?.wire?.ms;
  if (answeredAfterMs !== undefined && answeredAfterMs < AT_ONCE_MS) {
    context.leaveUnjudged("slow_then_failing");
  }
  const next = await sendUntilAcknowledged(context, attempt, LEASE_MS);
  await expectAccepted(context, "a retry after a late failure", id, next);
  await trustOutcome(context, id, next);
}

/** A receiver that remembers a failed id as handled also acknowledges the next retry. */
async function trustOutcome(context: CaseContext, id: string, next: ReceiverAnswer): Promise<void> {
  if ((await context.runsOf(id)) !== undefined) return;
  if (next.outcome !== "handled") context.leaveUnjudged("handled");
  else context.noteTrustedOutcome();
}

/**
 * Sends a delivery whose handler is slow, duplicates while it runs, and a retry after the first answer, when it
 * may still run. Returns the answers, the one to the first request first.
 */
async function sendWhileItRuns(
  context: CaseContext,
  id: string,
  attempt: () => Promise<ReceiverAnswer>,
): Promise<readonly ReceiverAnswer[]> {
  const first = attempt();
  const ensureNotEarly = async (answer: ReceiverAnswer): Promise<ReceiverAnswer> => {
    if (answer.result !== "acknowledged") return answer;
    const isSafe = await Promise.race([
      // A queue that survives the process acknowledges each of them, the first one too.
      first.then(({ result }) => result === "acknowledged"),
      wait(SAME_TIME_MS, false),
    ]);
    if (!isSafe && (await context.runsOf(id)) === 0) {
      const name = "a duplicate while the handler is slow";
      const what = "although it is not handled yet";
      throw context.failureAfter("acknowledged_early", name, answer, what);
    }
    return answer;
  };
  const duplicates = DUPLICATES_AFTER_MS.map(async (afterMs) => {
    await wait(afterMs);
    return ensureNotEarly(await attempt());
  });
  const answers = await Promise.all([first, ...duplicates]);
  if (!isRetried(answers[0])) return answers;
  return [...answers, await ensureNotEarly(await attempt())];
}

function ensureNoneGivenUp(context: CaseContext, answers: readonly ReceiverAnswer[]): void {
  for (const answer of answers) {
    if (answer.result === "acknowledged" || isRetried(answer)) continue;
    throw context.unexpected("while the handler is slow", "2xx or a retryable status", answer);
  }
}

/** Does `work` under an option that the rule needs. Returns its answers, even if the option does not. */
export async function whileHandler(
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
    if (error instanceof ConformanceFailure) throw error;
    throw context.probeFailure(option, error);
  }
  if (answers === undefined) {
    const name = context.settings.names[option];
    throw context.failure("probe_failed", `${name} must call and await its argument`);
  }
  return answers;
}
