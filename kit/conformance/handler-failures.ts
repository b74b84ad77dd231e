import { setTimeout as wait } from "node:timers/promises";
import { RETRIES } from "../../src/common/gateway-facts.js";
import type { CaseContext } from "./case-context.js";
import { AT_A_TIME, KIND_COPIES, PLAIN_COPIES } from "./duplicates.js";
import { whileHandler } from "./handler-switches.js";
import { isRetried, isSafe, saysLater, type ReceiverAnswer } from "./receiver-answer.js";
import { deliveriesOfEachKind } from "./records.js";
import {
  each,
  inPool,
  type Delivery,
  type Named,
  type NamedDeliveries,
} from "./test-deliveries.js";

const RETRIED_BY_QUEUE =
  "the delivery was acknowledged while its handler failed, and handled afterwards: that is right if it was in a queue that survives the process and whose worker tries again";

/** How much longer a queue may take that has failed. */
const BACK_OFF = 5;

/**
 * Whether nothing got a worse answer than 2xx so far, plain deliveries are answered 202, and some of them are handled
 * later: then the work waits in a queue.
 */
async function queuesPlain(context: CaseContext): Promise<boolean> {
  const { exchanges } = context;
  if (exchanges.some(({ received }) => "error" in received || received.status > 299)) return false;
  const plain = await context.ofAllTypes(AT_A_TIME);
  const seen = await each(plain, async (delivery) => {
    const { wire } = await context.sendGenuine(delivery);
    return { isLate: (await context.runsOf(delivery.id)) === 0, isQueued: wire?.status === 202 };
  });
  return seen.every(({ isQueued }) => isQueued) && seen.some(({ isLate }) => isLate);
}

/** How often a delivery was handled after its handler had failed. The pauses of a queue grow with each failure. */
async function afterFailure(context: CaseContext, id: string) {
  const isQueue = await queuesPlain(context);
  const withinMs = (isQueue ? 1 : BACK_OFF) * context.settings.handledWithinMs;
  return { isQueue, withinMs, runs: await context.settledRunsOf(id, withinMs) };
}

const retriedLater = ({ settings: { names, handledWithinMs } }: CaseContext): string =>
  `the delivery was answered 202 while its handler failed, and not handled within ${handledWithinMs} ms after that: that is right if it is in a queue that survives the process and whose worker tries again later. To see it, raise ${names.handledWithinMs} above its longest pause`;

/** A delivery and the answers to it. */
type Answered = readonly [named: Named<Delivery>, answers: readonly ReceiverAnswer[]];

/**
 * Sends copies of a delivery at the same time while its handler fails, of each kind of record. The gateway must
 * send each of them again, and the next one must be handled. A 2xx to a duplicate in flight would lose the alarm
 * too.
 */
export async function expectFailureRetried(context: CaseContext): Promise<void> {
  const plain = await plainDeliveries(context);
  const kinds = await deliveriesOfEachKind(context);
  const failing = [
    ...kinds.map((named) => [named, KIND_COPIES] as const),
    ...plain.map((named) => [named, PLAIN_COPIES] as const),
  ];
  await expectRetriedThenHandled(context, () =>
    inPool(failing, AT_A_TIME, async ([named, copies]): Promise<Answered> => {
      const copy = (): Promise<ReceiverAnswer> => context.send(named[1]);
      return [named, await Promise.all(Array.from({ length: copies }, copy))];
    }),
  );
}

/** Sends a delivery of each type as often as the gateway does, one after another, while its handler fails. */
export async function expectEachFailureRetried(context: CaseContext): Promise<void> {
  const plain = await plainDeliveries(context);
  await keepingWhatWasHandled(context, () =>
    expectRetriedThenHandled(context, () =>
      each(plain, async (named): Promise<Answered> => {
        const answers: ReceiverAnswer[] = [];
        while (answers.length < RETRIES.attempts) answers.push(await context.sendAgain(named[1]));
        return [named, answers];
      }),
    ),
  );
}

/** A failure that ends the process may take the memory of ids with it. */
async function keepingWhatWasHandled(context: CaseContext, work: () => Promise<void>) {
  const before = await context.deliver();
  await context.accept("a delivery before the failure", before);
  await work();
  await context.acceptInTheEnd("a duplicate of a delivery before the failure", before);
}

async function expectRetriedThenHandled(
  context: CaseContext,
  work: () => Promise<readonly Answered[]>,
): Promise<void> {
  const failed = await whileHandler(context, "whileFailing", work);
  for (const [[name], answers] of failed) {
    for (const answer of answers) {
      if (isSafe(answer) && answer.wire !== undefined) continue;
      throw context.unexpected(whileFailing(name), "a retryable status", answer);
    }
  }
  await inPool(failed, AT_A_TIME, async ([[name, delivery], answers]) => {
    const early = answers.find(({ result }) => result === "acknowledged");
    if (early !== undefined) {
      return expectHandledByQueue(context, whileFailing(name), delivery.id, early);
    }
    const next = await context.acceptInTheEnd(`the next retry, ${name}`, delivery);
    context.trustOutcome(next, "handled");
  });
}

const whileFailing = (name: string): string => `while the handler fails, ${name}`;

/**
 * A queue may acknowledge a delivery whose handler fails, if its worker tries again. Without a retry of the gateway
 * the delivery must be handled once after the failure has ended.
 */
async function expectHandledByQueue(
  context: CaseContext,
  name: string,
  id: string,
  early: ReceiverAnswer,
): Promise<void> {
  if (early.outcome === "handled") throw context.unexpected(name, "a retryable status", early);
  const { isQueue, withinMs, runs } = await afterFailure(context, id);
  if (runs === undefined) {
    context.leaveUnjudged("handled");
    return;
  }
  if (runs === 1 || (runs === 0 && isQueue)) {
    const reason = runs === 1 ? RETRIED_BY_QUEUE : retriedLater(context);
    context.leaveUnjudged("handled_before_answer", reason);
    return;
  }
  const code = runs === 0 ? "not_handled" : "handled_again";
  const what = `but after the failure had ended it was handled ${context.timesIn(runs, withinMs)}`;
  throw context.failureAfter(code, name, early, what);
}

function plainDeliveries({ deliver, settings }: CaseContext): Promise<NamedDeliveries> {
  return each(settings.types, async (type) => [type, await deliver({ type })] as const);
}

/** When duplicates arrive of the first delivery whose handler is slow, and of each other one. */
const DUPLICATES_AFTER_MS = [100, 400, 1_300];
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
    const what = `a retry after the slow handler has finished, ${name}`;
    const retry = await context.acceptInTheEnd(what, delivery);
    // "handled" proves nothing here: the late handler may have had its effect as well.
    context.trustOutcome(retry, "duplicate");
    if (context.settings.handled !== undefined && first?.result === "acknowledged") {
      context.note(
        "the receiver waited for the slow handler: make it slower than the receiver's time-out",
      );
    }
  });
}

/** The same with handlers that fail after the answer. Each delivery must be sent again, and then be handled once. */
export function expectLateFailureReleased(context: CaseContext): Promise<void> {
  return keepingWhatWasHandled(context, () => expectReleased(context));
}

async function expectReleased(context: CaseContext): Promise<void> {
  const kinds = await deliveriesOfEachKind(context);
  // The slow handlers end before `whileSlow` does, so that each of them fails.
  const late = await whileHandler(context, "whileFailing", () =>
    whileHandler(context, "whileSlow", () => sendWhileTheyRun(context, kinds)),
  );
  ensureNoneGivenUp(context, late);
  for (const [[name, { id }], answers] of late) {
    const early = answers.find(({ result }) => result === "acknowledged");
    if (early === undefined) continue;
    const { isQueue, withinMs, runs } = await afterFailure(context, id);
    if (runs === 0) {
      if (isQueue) throw context.notJudged("handled_before_answer", retriedLater(context));
      const what = `but handled ${context.timesIn(0, withinMs)}`;
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
    const what = `a retry after a late failure, ${name}`;
    const next = await context.acceptInTheEnd(what, delivery, undefined, LEASE_MS);
    context.trustOutcome(next, "handled");
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
  const attempt = (): Promise<ReceiverAnswer> => context.sendAgain(delivery);
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
      if (isSafe(answer)) continue;
      const which = `while the handler is slow, ${name}`;
      throw context.unexpected(which, "2xx or a retryable status", answer);
    }
  }
}
