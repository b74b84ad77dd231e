import type { CaseContext } from "./case-context.js";
import { ConformanceFailure } from "./conformance-case.js";
import type { HandlerOption } from "./conformance-options.js";
import { expectAccepted, timesIn, type Named, type NamedDeliveries } from "./expectations.js";
import { isRetried, type ReceiverAnswer } from "./receiver-answer.js";
import { deliveriesOfEachKind } from "./record-kinds.js";
import { sendAgain, sendUntilAcknowledged } from "./resending.js";
import { each, inPool, type Delivery } from "./test-deliveries.js";

/** How many deliveries are under way at the same time. */
export const AT_A_TIME = 8;
/** How many copies of a plain delivery arrive at the same time, and of each kind of record. */
const PLAIN_COPIES = 8;
const KIND_COPIES = 2;
/** How often the gateway tries a delivery (the gateway's document, section "Events", rule 3). */
const ATTEMPTS = 10;
const RETRIED_BY_QUEUE =
  "the delivery was acknowledged while its handler failed, and handled afterwards: that is right if it was in a queue that survives the process and whose worker tries again";

/** A delivery and the answers to it. */
export type Answered = readonly [named: Named<Delivery>, answers: readonly ReceiverAnswer[]];

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
  await expectRetriedThenHandled(context, () =>
    each(plain, async (named): Promise<Answered> => {
      const answers: ReceiverAnswer[] = [];
      while (answers.length < ATTEMPTS) answers.push(await sendAgain(context, named[1]));
      return [named, answers];
    }),
  );
}

async function expectRetriedThenHandled(
  context: CaseContext,
  work: () => Promise<readonly Answered[]>,
): Promise<void> {
  const failed = await whileHandler(context, "whileFailing", work);
  for (const [[name], answers] of failed) {
    for (const answer of answers) {
      const isFine = answer.result === "acknowledged" || isRetried(answer);
      if (isFine && answer.wire !== undefined) continue;
      throw context.unexpected(whileFailing(name), "a retryable status", answer);
    }
  }
  await inPool(failed, AT_A_TIME, async ([[name, delivery], answers]) => {
    const early = answers.find(({ result }) => result === "acknowledged");
    if (early !== undefined) {
      return expectHandledByQueue(context, whileFailing(name), delivery.id, early);
    }
    const next = await sendUntilAcknowledged(context, () => sendAgain(context, delivery));
    await expectAccepted(context, `the next retry, ${name}`, delivery.id, next);
    await trustOutcome(context, delivery.id, next);
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
  const runs = await context.settledRunsOf(id);
  if (runs === undefined) {
    context.leaveUnjudged("handled");
    return;
  }
  if (runs === 1) {
    context.leaveUnjudged("handled_before_answer", RETRIED_BY_QUEUE);
    return;
  }
  const code = runs === 0 ? "acknowledged" : "handled_again";
  const what = `but handled ${timesIn(context, runs)} after the failure has ended`;
  throw context.failureAfter(code, name, early, what);
}

function plainDeliveries({ deliver, settings }: CaseContext): Promise<NamedDeliveries> {
  return each(settings.types, async (type) => [type, await deliver({ type })] as const);
}

/** A receiver that remembers a failed id as handled also acknowledges the next retry. */
export async function trustOutcome(
  context: CaseContext,
  id: string,
  next: ReceiverAnswer,
): Promise<void> {
  if ((await context.runsOf(id)) !== undefined) return;
  if (next.outcome !== "handled") context.leaveUnjudged("handled");
  else context.noteTrustedOutcome();
}

/** Does `work` under an option that the rule needs. Returns its result, even if the option does not. */
export async function whileHandler<Result>(
  context: CaseContext,
  option: HandlerOption,
  work: () => Promise<Result>,
): Promise<Result> {
  let done: { readonly result: Result } | undefined;
  try {
    await context.settings[option]?.(async () => {
      done = { result: await work() };
    });
  } catch (error) {
    if (error instanceof ConformanceFailure) throw error;
    throw context.probeFailure(option, error);
  }
  if (done === undefined) {
    const name = context.settings.names[option];
    throw context.failure("probe_failed", `${name} must call and await its argument`);
  }
  return done.result;
}
