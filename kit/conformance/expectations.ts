import type { CaseContext } from "./case-context.js";
import { UNMET_NEEDS } from "./needs.js";
import { isRetried, type ReceiverAnswer } from "./receiver-answer.js";
import { headerOf, ID } from "./request-changes.js";
import { isOfLimiter, sendAgain, sendGenuine, sendPastLimiter } from "./resending.js";
import { inGroups, type Delivery } from "./test-deliveries.js";

/** A request with its name for a message. */
export type Named<T> = readonly [name: string, request: T];

/** Deliveries, each with its name for messages. */
export type NamedDeliveries = readonly Named<Delivery>[];

/** Each delivery must be acknowledged and, if that can be seen, handled once. */
export async function expectAllAccepted(
  context: CaseContext,
  deliveries: NamedDeliveries,
): Promise<void> {
  await inGroups(context, deliveries, async ([name, delivery]) => {
    await expectAccepted(context, name, delivery.id, await sendGenuine(context, delivery));
  });
}

/** `answer` must acknowledge the delivery `id`, which was not sent before. */
export async function expectAccepted(
  context: CaseContext,
  name: string,
  id: string,
  answer: ReceiverAnswer,
): Promise<void> {
  context.expectAcknowledged(name, answer);
  const runs = await context.settledRunsOf(id);
  if (runs !== undefined && runs !== 1) {
    const code = runs === 0 ? "not_handled" : "handled_again";
    throw context.failureAfter(code, name, answer, `but handled ${timesIn(context, runs)}`);
  }
}

/**
 * Each delivery is genuine, but may be unknown to the receiver. It must be acknowledged and handled, or the
 * gateway must send it again, and then it must not be handled a second time.
 */
export async function expectAcceptedOrRetried(
  context: CaseContext,
  deliveries: NamedDeliveries,
): Promise<void> {
  let unseen: string | undefined;
  await inGroups(context, deliveries, async ([name, delivery]) => {
    const answer = await sendPastLimiter(context, delivery);
    if (isRetried(answer)) {
      ensureNotOfLimiter(context, name, answer);
      await ensureAnswered(context, name, answer);
      return expectNotHandledAgain(context, name, delivery, answer);
    }
    context.expect(answer.result === "acknowledged", name, "2xx or a retryable status", answer);
    if ((await runsOfAcknowledged(context, name, delivery, answer)) === undefined) unseen ??= name;
  });
  if (unseen !== undefined) {
    const reason = `${unseen} was acknowledged; to see whether it was also handled, pass ${context.settings.names.handled}`;
    context.note(reason, "handled");
  }
}

/**
 * Each request may be genuine, but that cannot be verified. The gateway must not give it up, and a request
 * that is acknowledged must be handled. If that cannot be seen, the case is not judged.
 */
export async function expectNotGivenUp(
  context: CaseContext,
  requests: NamedDeliveries,
): Promise<void> {
  await inGroups(context, requests, async ([name, request]) => {
    const answer = await sendPastLimiter(context, request);
    ensureNotOfLimiter(context, name, answer);
    context.expect(answer.result !== "final", name, "a retryable status", answer);
    if (answer.result === "acknowledged") {
      const runs = await runsOfAcknowledged(context, name, request, answer);
      if (runs === undefined && answer.outcome !== "handled") {
        const reason = `${name} was acknowledged; whether it was handled cannot be seen without ${context.settings.names.handled}`;
        context.leaveUnjudged("handled", reason);
      }
    }
    await ensureAnswered(context, name, answer);
  });
}

/**
 * Sends a delivery again after a 5xx, as the gateway does up to ten times. A handler that fails after its work, in
 * the line that writes a log, would do the work each time.
 */
async function expectNotHandledAgain(
  context: CaseContext,
  name: string,
  delivery: Delivery,
  { wire }: ReceiverAnswer,
): Promise<void> {
  if (wire !== undefined && wire.status < 500) return;
  const again = await sendPastLimiter(context, delivery, () => sendAgain(context, delivery));
  const which = `${name}, sent again after ${wire?.status ?? "no answer"}`;
  const runs =
    again.result === "acknowledged"
      ? await runsOfAcknowledged(context, which, delivery, again)
      : await context.runsOf(delivery.id);
  if (runs === undefined || runs <= 1) return;
  throw context.failureAfter("handled_again", which, again, `and handled ${times(runs)}`);
}

/** How often an acknowledged delivery was handled: at least once, or undefined if that cannot be seen. */
async function runsOfAcknowledged(
  context: CaseContext,
  name: string,
  request: Delivery,
  answer: ReceiverAnswer,
): Promise<number | undefined> {
  // Without the id header the receiver does not know the id, so `handled` cannot count it.
  const hasId = headerOf(request, ID) !== "";
  const runs = hasId ? await context.settledRunsOf(request.id) : undefined;
  if (runs === 0) {
    throw context.failureAfter("not_handled", name, answer, `but handled ${timesIn(context, 0)}`);
  }
  return runs;
}

/** No request is the gateway's: each must be refused and not handled. */
export async function expectRefused(
  context: CaseContext,
  requests: NamedDeliveries,
): Promise<void> {
  // A receiver that refuses everything would pass.
  await ensureAcceptsGenuine(context);
  await inGroups(context, requests, async ([name, request]) => {
    const answer = await sendPastLimiter(context, request);
    await expectNotAccepted(context, name, request.id, answer);
    context.expect(answer.wire !== undefined, name, "a refusal", answer);
  });
}

/** `answer` must not acknowledge the delivery `id`, which must not be handled. No answer is fine. */
export async function expectNotAccepted(
  context: CaseContext,
  name: string,
  id: string,
  answer: ReceiverAnswer,
): Promise<void> {
  context.expect(answer.result !== "acknowledged", name, "a refusal", answer);
  const runs = await context.runsOf(id);
  if (runs !== undefined && runs > 0) {
    throw context.failureAfter("wrongly_handled", name, answer, `but handled ${times(runs)}`);
  }
  ensureNotOfLimiter(context, name, answer);
  context.suite.log.refusedForgery(id);
}

/** Ends the case as not judged when a rate limiter keeps answering instead of the receiver. */
export function ensureNotOfLimiter(
  context: CaseContext,
  name: string,
  answer: ReceiverAnswer,
): void {
  if (!isOfLimiter(answer) || context.refusesWith429) return;
  const reason = UNMET_NEEDS.no_rate_limiter(context.settings.names);
  throw context.notJudged("no_rate_limiter", `${name}: ${reason}`);
}

/** Ends the case as not judged when the receiver refuses everything: then a refusal proves nothing. */
export async function ensureAcceptsGenuine(context: CaseContext): Promise<void> {
  if (await context.suite.acceptsGenuine()) return;
  throw context.notJudged("accepted_delivery");
}

/** The receiver must still accept a genuine delivery. `after` says what was sent before, for a message. */
export async function expectStillAccepts(context: CaseContext, after: string): Promise<void> {
  await ensureAcceptsGenuine(context);
  const answer = await sendGenuine(context, await context.deliver());
  context.expectAcknowledged(`a genuine delivery after ${after}`, answer);
}

/**
 * A missing answer makes the gateway send again, so a closed connection is fine. It is not fine from a
 * receiver that answers nothing, and neither is a time-out.
 */
async function ensureAnswered(
  context: CaseContext,
  name: string,
  answer: ReceiverAnswer,
): Promise<void> {
  const isMissing =
    answer.result === "timeout" ||
    (answer.wire === undefined && !(await context.suite.acceptsGenuine()));
  context.expect(!isMissing, name, "an answer", answer);
}

/** Like `times`, for a count that a case has waited for. Says how to give a slow queue more time. */
export function timesIn(
  { settings: { handledWithinMs, names } }: CaseContext,
  runs: number,
): string {
  if (runs > 0) return times(runs);
  return `never in ${handledWithinMs} ms: a queue that takes longer needs a higher limit in ${names.handledWithinMs}`;
}

/** "never", "once" or "3 times", for a message. */
export function times(runs: number): string {
  if (runs === 0) return "never";
  return runs === 1 ? "once" : `${runs} times`;
}
