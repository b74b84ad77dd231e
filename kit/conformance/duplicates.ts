import { setTimeout as wait } from "node:timers/promises";
import { madeUpDeliveryId } from "../random.js";
import type { WebhookType } from "../../src/delivery/headers.js";
import type { CaseContext } from "./case-context.js";
import { ensureAcceptsGenuine, times, timesIn } from "./expectations.js";
import { isRetried, type ReceiverAnswer } from "./receiver-answer.js";
import { textOf } from "./request-changes.js";
import { deliveriesOfEachKind } from "./record-kinds.js";
import { sendAgain, sendGenuine, sendUntilAcknowledged } from "./resending.js";
import { each, inGroups, inPool, type Delivery } from "./test-deliveries.js";

/** How many deliveries are under way at the same time. */
const AT_A_TIME = 8;
/** How many requests with the same id are sent at the same time: of a plain delivery, and of each kind of record. */
const PLAIN_COPIES = 8;
const KIND_COPIES = 2;

/** Sends a delivery and then a duplicate of it. Both must be acknowledged. */
export async function sendTwice(
  context: CaseContext,
  delivery: Delivery,
  duplicate = delivery,
  kind?: string,
): Promise<readonly ReceiverAnswer[]> {
  await ensureAcceptsGenuine(context);
  const first = await sendGenuine(context, delivery);
  context.expectAcknowledged(ofKind("the first request", kind), first);
  const second = await sendGenuine(context, duplicate);
  context.expectAcknowledged(ofKind("the duplicate", kind), second);
  return [first, second];
}

/** A duplicate of each kind of record must not be handled again. */
export async function expectDuplicatesHandledOnce(context: CaseContext): Promise<void> {
  await inGroups(context, await deliveriesOfEachKind(context), async ([name, delivery]) => {
    const answers = await sendTwice(context, delivery, delivery, name);
    await expectHandledOnce(context, delivery, answers, name);
  });
}

/** One of several concurrent duplicates must be handled, of each type and of each kind of record. */
export async function expectConcurrentHandledOnce(context: CaseContext): Promise<void> {
  for (const type of context.settings.types) {
    const delivery = await context.deliver({ type });
    await expectHandledOnce(context, delivery, await sendConcurrently(context, delivery));
  }
  await inPool(await deliveriesOfEachKind(context), AT_A_TIME, async ([name, delivery]) => {
    const answers = await sendConcurrently(context, delivery, KIND_COPIES);
    await expectHandledOnce(context, delivery, answers, name);
  });
}

/** Sends duplicates at the same time, then one more until it is acknowledged. */
export async function sendConcurrently(
  context: CaseContext,
  delivery: Delivery,
  copies = PLAIN_COPIES,
): Promise<readonly ReceiverAnswer[]> {
  await ensureAcceptsGenuine(context);
  const answers = await Promise.all(Array.from({ length: copies }, () => context.send(delivery)));
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
 * if the receiver names any, as this library does. `kind`: the kind of its record, for a message.
 */
export async function expectHandledOnce(
  context: CaseContext,
  { id }: Delivery,
  answers: readonly ReceiverAnswer[],
  kind?: string,
): Promise<void> {
  const runs = await context.settledRunsOf(id);
  if (runs !== undefined && runs !== 1) {
    const code = runs === 0 ? "duplicates_not_handled" : "handled_again";
    const message = `${ofKind("the delivery", kind)} was handled ${timesIn(context, runs)}`;
    throw context.failure(code, message, answers.at(-1));
  }
  if (runs !== undefined) return;
  const outcomes = answers.map(({ outcome }) => outcome);
  const handled = outcomes.filter((outcome) => outcome === "handled").length;
  if (handled > 1) {
    const message = `by its answers the receiver handled the delivery ${times(handled)}`;
    throw context.failure("handled_again", message);
  }
  if (handled === 0 || outcomes.includes(undefined)) throw context.notJudged("handled");
  context.noteTrustedOutcome();
}

function ofKind(what: string, kind: string | undefined): string {
  return kind === undefined ? what : `${what} (${kind})`;
}

/** The same id with another body is a duplicate. The same body under another id is not. */
export async function expectDuplicatesByIdAlone(context: CaseContext): Promise<void> {
  await inGroups(context, context.settings.types, (type) =>
    expectDuplicateByIdAlone(context, type),
  );
}

async function expectDuplicateByIdAlone(context: CaseContext, type: WebhookType): Promise<void> {
  const delivery = await context.deliver({ type });
  const body = reordered(textOf(delivery));
  const duplicate = await context.deliver({ type, id: delivery.id, body });
  const answers = await sendTwice(context, delivery, duplicate);

  const other = await context.deliver({ type, body: delivery.body });
  // On its own connection, or a stale connection could send it twice: a duplicate of itself.
  const answer = await sendGenuine(context, other, () => context.sendAlone(other));
  const name = "the same body under another id";
  // A table whose key is the alarm's id refuses an alarm that it knows. Then nothing is lost.
  if (!isRetried(answer)) context.expectAcknowledged(name, answer);
  // Its effect is not checked: a handler may also ignore an alarm that it knows.
  if (answer.outcome === "duplicate") {
    const what = "as a duplicate of the first delivery";
    throw context.failureAfter("taken_for_duplicate", name, answer, what);
  }
  await expectHandledOnce(context, delivery, answers);
  await showOtherRecord(context, delivery);
}

/** Shows that a known id was handled again, with another record. No document says what is right. */
async function showOtherRecord(context: CaseContext, { id }: Delivery): Promise<void> {
  const { text } = await context.send(await context.deliver({ id }));
  const runs = await context.runsOf(id);
  // A receiver may handle it, also later.
  context.suite.log.forget(id);
  if (runs === undefined || runs === 1) return;
  context.note(
    `the same id with another record: answered ${text}, and it was handled ${times(runs)} in all. No rule says what is right`,
  );
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
  const [uuid, stem] = [madeUpDeliveryId(), madeUpDeliveryId().slice(0, -1)];
  const pairs: readonly SimilarIds[] = [
    ["the last digit", `${stem}0`, `${stem}1`],
    // Not UUIDs, since a UUID is the same in either letter case.
    ["letter case", `${uuid}.a`, `${uuid}.A`],
  ];
  const all = [...pairs, ...(await pairsByPart(context))];
  await inGroups(context, all, (pair) => expectBothHandled(context, pair));
}

/** Ids that differ in one digit that RFC 9562 leaves free, after the first part, which marks them as made up. */
async function pairsByPart({ deliver }: CaseContext): Promise<readonly SimilarIds[]> {
  return each([9, 15, 20, 24], async (at): Promise<SimilarIds> => {
    const { id } = await deliver();
    const other = `${id.slice(0, at)}${id[at] === "0" ? "1" : "0"}${id.slice(at + 1)}`;
    return [`digit ${at + 1}`, id, other];
  });
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
const REMEMBERED_MS = 1_200;

/** A retry must not be handled again after many other deliveries and more than a second. */
export async function expectRemembered(context: CaseContext): Promise<void> {
  await ensureAcceptsGenuine(context);
  const isOld = wait(REMEMBERED_MS);
  const { types } = context.settings;
  const first = await each(types, async (type) => {
    const delivery = await context.deliver({ type });
    const answer = await sendGenuine(context, delivery);
    context.expectAcknowledged(ofKind("the first request", type), answer);
    return [type, delivery, answer] as const;
  });
  await inPool(Array.from({ length: OTHERS }), AT_A_TIME, async () => {
    await sendGenuine(context, await context.deliver());
  });
  await isOld;
  await inGroups(context, first, async ([type, delivery, answer]) => {
    const again = (): Promise<ReceiverAnswer> => sendAgain(context, delivery);
    const second = await sendGenuine(context, delivery, again);
    context.expectAcknowledged(ofKind("the duplicate", type), second);
    await expectHandledOnce(context, delivery, [answer, second], type);
  });
}
