import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { CaseContext } from "./case-context.js";
import { ensureAcceptsGenuine, times, timesIn } from "./expectations.js";
import { isRetried, type ReceiverAnswer } from "./receiver-answer.js";
import { textOf } from "./request-changes.js";
import { sendGenuine, sendUntilAcknowledged } from "./resending.js";
import type { Delivery } from "./test-deliveries.js";

/** How many requests with the same id are sent at the same time. */
export const CONCURRENT_DUPLICATES = 8;

/** Sends a delivery and, after `between`, a duplicate of it. Both must be acknowledged. */
export async function sendTwice(
  context: CaseContext,
  delivery: Delivery,
  duplicate = delivery,
  between?: () => Promise<void>,
): Promise<readonly ReceiverAnswer[]> {
  await ensureAcceptsGenuine(context);
  const first = await sendGenuine(context, delivery);
  context.expectAcknowledged("the first request", first);
  await between?.();
  const second = await sendGenuine(context, duplicate);
  context.expectAcknowledged("the duplicate", second);
  return [first, second];
}

/** Sends duplicates at the same time, then one more until it is acknowledged. */
export async function sendConcurrently(
  context: CaseContext,
  delivery: Delivery,
): Promise<readonly ReceiverAnswer[]> {
  await ensureAcceptsGenuine(context);
  const answers = await Promise.all(
    Array.from({ length: CONCURRENT_DUPLICATES }, () => context.send(delivery)),
  );
  for (const answer of answers) {
    const isFine = isRetried(answer) || answer.result === "acknowledged";
    if (answer.wire === undefined || !isFine) {
      throw context.unexpected("a duplicate", "2xx or a retryable status", answer);
    }
  }
  const last = await sendUntilAcknowledged(context, () => context.send(delivery));
  context.expectAcknowledged("the duplicate after them", last);
  return [...answers, last];
}

/**
 * The delivery must have been handled once. Without the option `handled` the outcomes in the answers decide,
 * if the receiver names any, as this library does.
 */
export async function expectHandledOnce(
  context: CaseContext,
  { id }: Delivery,
  answers: readonly ReceiverAnswer[],
): Promise<void> {
  const runs = await context.settledRunsOf(id);
  if (runs !== undefined && runs !== 1) {
    const code = runs === 0 ? "duplicates_not_handled" : "handled_again";
    throw context.failure(code, `the delivery was handled ${timesIn(context, runs)}`);
  }
  if (runs !== undefined) return;
  const outcomes = answers.map(({ outcome }) => outcome);
  const handled = outcomes.filter((outcome) => outcome === "handled").length;
  if (handled > 1) {
    throw context.failure(
      "handled_again",
      `by its answers the receiver handled the delivery ${times(handled)}`,
    );
  }
  if (handled === 0 || outcomes.includes(undefined)) throw context.notJudged("handled");
  context.noteTrustedOutcome();
}

/** The same id with another body is a duplicate. The same body under another id is not. */
export async function expectDuplicatesByIdAlone(context: CaseContext): Promise<void> {
  const delivery = await context.deliver();
  const body = reordered(textOf(delivery));
  const duplicate = await context.deliver({ id: delivery.id, body });
  const answers = await sendTwice(context, delivery, duplicate);

  const other = await context.deliver({ body: delivery.body });
  // On its own connection, or a stale connection could send it twice: a duplicate of itself.
  const answer = await sendGenuine(context, other, () => context.sendAlone(other));
  const name = "the same body under another id";
  context.expectAcknowledged(name, answer);
  // Its effect is not checked: a handler may ignore an alarm that it already knows.
  if (answer.outcome === "duplicate") {
    const what = "as a duplicate of the first delivery";
    throw context.failureAfter("taken_for_duplicate", name, answer, what);
  }
  await expectHandledOnce(context, delivery, answers);
}

/** The same JSON with its fields in reverse order: valid also for a receiver that parses it. */
function reordered(text: string): string {
  return JSON.stringify(JSON.parse(text), (_, value: unknown) =>
    value instanceof Object && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).reverse())
      : value,
  );
}

/** The ids of two deliveries, and the only difference between them. */
type SimilarIds = readonly [difference: string, first: string, second: string];

/** Two deliveries with similar ids must both be handled: neither is a duplicate of the other. */
export async function expectSimilarIdsToldApart(context: CaseContext): Promise<void> {
  const [uuid, stem] = [randomUUID(), randomUUID().slice(0, -1)];
  const pairs: readonly SimilarIds[] = [
    ["the last digit", `${stem}0`, `${stem}1`],
    // Not UUIDs, since a UUID is the same in either letter case.
    ["letter case", `${uuid}.a`, `${uuid}.A`],
  ];
  for (const pair of pairs) await expectBothHandled(context, pair);
}

async function expectBothHandled(
  context: CaseContext,
  [difference, ...ids]: SimilarIds,
): Promise<void> {
  for (const id of ids) {
    const delivery = await context.deliver({ id });
    // On its own connection, or a stale connection could send it twice: a duplicate of itself.
    const answer = await sendGenuine(context, delivery, () => context.sendAlone(delivery));
    // The document promises UUIDs: a receiver that refuses other ids cannot mix them up.
    if (answer.result !== "acknowledged") return;
    const runs = await context.settledRunsOf(id);
    if (runs === 0 || (runs === undefined && answer.outcome === "duplicate")) {
      const name = `one of two ids that differ only in ${difference}`;
      throw context.failureAfter("not_handled", name, answer, `but handled ${timesIn(context, 0)}`);
    }
    if (runs === undefined && answer.outcome !== "handled") context.leaveUnjudged("handled");
  }
}

/** How many other deliveries a receiver must remember an id across, and for how long. */
const OTHERS = 64;
const AT_A_TIME = 8;
const REMEMBERED_MS = 1_200;

/** Sends other deliveries, and waits until the first one is more than a second old. */
export async function sendOthers(context: CaseContext): Promise<void> {
  const isOld = wait(REMEMBERED_MS);
  for (let sent = 0; sent < OTHERS; sent += AT_A_TIME) {
    await Promise.all(
      Array.from({ length: AT_A_TIME }, async () => {
        await sendGenuine(context, await context.deliver());
      }),
    );
  }
  await isOld;
}
