import { setTimeout as wait } from "node:timers/promises";
import type { CaseContext } from "./case-context.js";
import { expectAccepted, timesIn, type Named, type NamedDeliveries } from "./expectations.js";
import { AT_A_TIME, trustOutcome, whileHandler, type Answered } from "./failing-handlers.js";
import { isRetried, type ReceiverAnswer } from "./receiver-answer.js";
import { deliveriesOfEachKind } from "./record-kinds.js";
import { saysLater, sendAgain, sendUntilAcknowledged } from "./resending.js";
import { inPool, type Delivery } from "./test-deliveries.js";

/** When duplicates arrive of the first delivery whose handler is slow, and of each other one. */
const DUPLICATES_AFTER_MS = [100, 400];
const DUPLICATE_AFTER_MS = [100];
/** No time-out of a handler is as short as this. */
const AT_ONCE_MS = 50;
/** A platform that freezes the process may leave the lease of a late failure to end by itself. */
const LEASE_MS = 60_000;
/** The answer to the first request may come a little later than the one to a duplicate that waited for it. */
const SAME_TIME_MS = 100;

/**
 * Sends a delivery of each kind of record whose handler finishes after the answer, and duplicates of it meanwhile.
 * None of them may be acknowledged before it is handled. Its later retries must be acknowledged, and it must be
 * handled once.
 */
export async function expectLateSuccessCounts(context: CaseContext): Promise<void> {
  const kinds = await deliveriesOfEachKind(context);
  const late = await whileHandler(context, "whileSlow", () => sendWhileTheyRun(context, kinds));
  ensureNoneGivenUp(context, late);
  await inPool(late, AT_A_TIME, async ([[name, delivery], [first]]) => {
    const { id } = delivery;
    const retry = await sendUntilAcknowledged(context, () => sendAgain(context, delivery));
    await expectAccepted(
      context,
      `a retry after the slow handler has finished, ${name}`,
      id,
      retry,
    );
    if ((await context.runsOf(id)) === undefined) {
      // "handled" proves nothing here: the late handler may have had its effect as well.
      if (retry.outcome === "duplicate") context.noteTrustedOutcome();
      else context.leaveUnjudged("handled");
    } else if (first?.result === "acknowledged") {
      context.note(
        "the receiver waited for the slow handler: make it slower than the receiver's time-out",
      );
    }
  });
}

/** The same with handlers that fail after the answer. Each delivery must be sent again, and then be handled once. */
export async function expectLateFailureReleased(context: CaseContext): Promise<void> {
  const kinds = await deliveriesOfEachKind(context);
  // The slow handlers end before `whileSlow` does, so that each of them fails.
  const late = await whileHandler(context, "whileFailing", () =>
    whileHandler(context, "whileSlow", () => sendWhileTheyRun(context, kinds)),
  );
  ensureNoneGivenUp(context, late);
  for (const [[name, { id }], answers] of late) {
    const early = answers.find(({ result }) => result === "acknowledged");
    if (early === undefined) continue;
    const runs = await context.settledRunsOf(id);
    if (runs === 0) {
      const what = `but handled ${timesIn(context, 0)}`;
      const which = `while the handler is slow and then fails, ${name}`;
      throw context.failureAfter("not_handled", which, early, what);
    }
    if (runs === undefined) throw context.notJudged("handled");
    throw context.notJudged(
      "slow_then_failing",
      "the handler succeeded although it was to be slow and then fail: let it fail after it was slow",
    );
  }
  const atOnce = late.filter(([, [first]]) => (first?.wire?.ms ?? Infinity) < AT_ONCE_MS);
  // A receiver that is busy may put off some of them at once.
  const isFailure = atOnce.some(([, [first]]) => first !== undefined && !saysLater(first));
  if (isFailure || atOnce.length === late.length) context.leaveUnjudged("slow_then_failing");
  await inPool(late, AT_A_TIME, async ([[name, delivery]]) => {
    const again = (): Promise<ReceiverAnswer> => sendAgain(context, delivery);
    const next = await sendUntilAcknowledged(context, again, LEASE_MS);
    await expectAccepted(context, `a retry after a late failure, ${name}`, delivery.id, next);
    await trustOutcome(context, delivery.id, next);
  });
}

/** All at the same time, since each of them waits for its handler. */
function sendWhileTheyRun(
  context: CaseContext,
  deliveries: NamedDeliveries,
): Promise<readonly Answered[]> {
  return inPool(deliveries, deliveries.length, async (named) => {
    const afterMs = named === deliveries[0] ? DUPLICATES_AFTER_MS : DUPLICATE_AFTER_MS;
    return [named, await sendWhileItRuns(context, named, afterMs)];
  });
}

/**
 * Sends a delivery whose handler is slow, duplicates while it runs, and a retry after the first answer, when it
 * may still run. Returns the answers, the one to the first request first.
 */
async function sendWhileItRuns(
  context: CaseContext,
  [name, delivery]: Named<Delivery>,
  duplicatesAfterMs: readonly number[],
): Promise<readonly ReceiverAnswer[]> {
  const attempt = (): Promise<ReceiverAnswer> => sendAgain(context, delivery);
  const first = attempt();
  const ensureNotEarly = async (answer: ReceiverAnswer): Promise<ReceiverAnswer> => {
    if (answer.result !== "acknowledged") return answer;
    await Promise.race([first, wait(SAME_TIME_MS)]);
    if ((await context.runsOf(delivery.id)) !== 0) return answer;
    // A queue that survives the process acknowledges each of them before it is handled, the first one too.
    const isQueued =
      (await first).result === "acknowledged" && (await context.runsOf(delivery.id)) === 0;
    if (!isQueued) {
      const which = `a duplicate while the handler is slow, ${name}`;
      const what = "although it is not handled yet";
      throw context.failureAfter("acknowledged_early", which, answer, what);
    }
    return answer;
  };
  const duplicates = duplicatesAfterMs.map(async (afterMs) => {
    await wait(afterMs);
    return ensureNotEarly(await attempt());
  });
  const answers = await Promise.all([first, ...duplicates]);
  if (!isRetried(answers[0])) return answers;
  return [...answers, await ensureNotEarly(await attempt())];
}

function ensureNoneGivenUp(context: CaseContext, late: readonly Answered[]): void {
  for (const [[name], answers] of late) {
    for (const answer of answers) {
      if (answer.result === "acknowledged" || isRetried(answer)) continue;
      const which = `while the handler is slow, ${name}`;
      throw context.unexpected(which, "2xx or a retryable status", answer);
    }
  }
}
