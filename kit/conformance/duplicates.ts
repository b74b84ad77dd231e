import { setTimeout as wait } from "node:timers/promises";
import { madeUpDeliveryId } from "../random.js";
import type { HeaderLine } from "../sending/wire.js";
import type { CaseContext } from "./case-context.js";
import { sendRawRequest } from "./connections.js";
import { isRetried, isSafe, times, type ReceiverAnswer } from "./receiver-answer.js";
import { deliveriesOfEachKind } from "./records.js";
import { each, inPool, type Delivery } from "./test-deliveries.js";

/** How many deliveries are under way at the same time. */
export const AT_A_TIME = 8;
/** How many requests with the same id are sent at the same time: of a plain delivery, and of each kind of record. */
export const PLAIN_COPIES = 8;
export const KIND_COPIES = 2;

/** Sends a delivery and then a duplicate of it. Both must be acknowledged. */
export async function sendTwice(
  context: CaseContext,
  delivery: Delivery,
  duplicate = delivery,
  kind?: string,
): Promise<readonly ReceiverAnswer[]> {
  await context.ensureAcceptsGenuine();
  const first = await context.sendGenuine(delivery);
  context.expectAcknowledged(ofKind("the first request", kind), first);
  const second = await context.sendGenuine(duplicate);
  context.expectAcknowledged(ofKind("the duplicate", kind), second);
  return [first, second];
}

/** A duplicate of each kind of record must not be handled again. */
export async function expectDuplicatesHandledOnce(context: CaseContext): Promise<void> {
  await context.inGroups(await deliveriesOfEachKind(context), async ([name, delivery]) => {
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
  await context.ensureAcceptsGenuine();
  const send = (): Promise<ReceiverAnswer> => context.send(delivery);
  const answers = await each(Array.from({ length: copies }), send);
  for (const answer of answers) {
    if (answer.wire === undefined || !isSafe(answer)) {
      throw context.unexpected("a duplicate", "2xx or a retryable status", answer);
    }
  }
  const last = await context.sendUntilAcknowledged(send);
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
  if (runs === 1) return;
  if (runs !== undefined) {
    const code = runs === 0 ? "duplicates_not_handled" : "handled_again";
    const message = `${ofKind("the delivery", kind)} was handled ${context.timesIn(runs)}`;
    throw context.failure(code, message, answers.at(-1));
  }
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

/**
 * Each delivery must be acknowledged, if need be when it is sent again, and handled once. `which` says for a
 * message which deliveries these are.
 */
export async function expectEachHandledOnce(
  context: CaseContext,
  sent: readonly (readonly [Delivery, ReceiverAnswer])[],
  which: string,
): Promise<void> {
  await context.inGroups([...sent.entries()], async ([at, [delivery, first]]) => {
    const again = (): Promise<ReceiverAnswer> => context.sendAlone(delivery);
    const answer = isRetried(first) ? await context.sendUntilAcknowledged(again) : first;
    const name = `delivery ${at + 1} of ${sent.length} ${which}`;
    await context.expectAccepted(name, delivery.id, answer);
    if (context.settings.handled !== undefined) return;
    // A delivery that was refused at first may have been handled all the same.
    if (answer === first && answer.outcome === "duplicate") {
      const what = "as a duplicate of another delivery";
      throw context.failureAfter("taken_for_duplicate", name, answer, what);
    }
    context.trustOutcome(answer);
  });
}

/** The same id with another body is a duplicate. The same body under another id is not. */
export async function expectDuplicatesByIdAlone(context: CaseContext): Promise<void> {
  await context.inGroups(context.settings.types, async (type) => {
    const delivery = await context.deliver({ type });
    const body = reordered(delivery.text);
    const duplicate = await context.deliver({ type, id: delivery.id, body });
    const answers = await sendTwice(context, delivery, duplicate);

    const other = await context.deliver({ type, body: delivery.body });
    // On its own connection, or a stale connection could send it twice: a duplicate of itself.
    const answer = await context.sendGenuine(other, () => context.sendAlone(other));
    const name = "the same body under another id";
    // A table whose key is the alarm's id refuses an alarm that it knows. Then nothing is lost.
    if (!isRetried(answer)) context.expectAcknowledged(name, answer);
    // Its effect is not checked: a handler may also ignore an alarm that it knows.
    if (answer.outcome === "duplicate") {
      const what = "as a duplicate of the first delivery";
      throw context.failureAfter("taken_for_duplicate", name, answer, what);
    }
    await expectHandledOnce(context, delivery, answers);
  });
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
  // Digits that RFC 9562 leaves free, after the first part, which marks the ids as made up.
  const byPart = [9, 15, 20, 24].map((at): SimilarIds => {
    const id = madeUpDeliveryId();
    const other = `${id.slice(0, at)}${id[at] === "0" ? "1" : "0"}${id.slice(at + 1)}`;
    return [`digit ${at + 1}`, id, other];
  });
  const pairs: readonly SimilarIds[] = [
    ["the last digit", `${stem}0`, `${stem}1`],
    // Not UUIDs, since a UUID is the same in either letter case.
    ["letter case", `${uuid}.a`, `${uuid}.A`],
    ...byPart,
  ];
  await context.inGroups(pairs, (pair) => expectBothHandled(context, pair));
}

async function expectBothHandled(context: CaseContext, [difference, ...ids]: SimilarIds) {
  for (const id of ids) {
    const delivery = await context.deliver({ id });
    // On its own connection, or a stale connection could send it twice: a duplicate of itself.
    const answer = await context.sendGenuine(delivery, () => context.sendAlone(delivery));
    // The document promises UUIDs: a receiver that refuses other ids cannot mix them up.
    if (answer.result !== "acknowledged") return;
    const runs = await context.settledRunsOf(id);
    if (runs === 0 || (runs === undefined && answer.outcome === "duplicate")) {
      const name = `one of two ids that differ only in ${difference}`;
      const what = `but handled ${context.timesIn(0)}`;
      throw context.failureAfter("not_handled", name, answer, what);
    }
    if (runs === undefined && answer.outcome !== "handled") context.leaveUnjudged("handled");
  }
}

/** How many other deliveries a receiver must remember an id across, and for how long. */
const OTHERS = 64;
const REMEMBERED_MS = 1_200;

/** A retry must not be handled again after many other deliveries and more than a second. */
export async function expectRemembered(context: CaseContext): Promise<void> {
  await context.ensureAcceptsGenuine();
  const isOld = wait(REMEMBERED_MS);
  const first = await each(context.settings.types, async (type) => {
    const delivery = await context.deliver({ type });
    const answer = await context.sendGenuine(delivery);
    context.expectAcknowledged(ofKind("the first request", type), answer);
    return [type, delivery, answer] as const;
  });
  await inPool(Array.from({ length: OTHERS }), AT_A_TIME, async () => {
    await context.sendGenuine(await context.deliver());
  });
  await isOld;
  await context.inGroups(first, async ([type, delivery, answer]) => {
    const second = await context.sendGenuine(delivery, () => context.sendAgain(delivery));
    context.expectAcknowledged(ofKind("the duplicate", type), second);
    await expectHandledOnce(context, delivery, [answer, second], type);
  });
}

/** Headers that are not signed, and that real receivers take for the id of a delivery. */
const OTHER_IDS =
  "X-Request-Id X-Correlation-Id Idempotency-Key X-Idempotency-Key X-Event-Id X-Delivery-Id Webhook-Id".split(
    " ",
  );
const FIRST_WAY = ["203.0.113.7", "GuzzleHttp/7", "1"] as const;
const OTHER_WAY = ["198.51.100.9", "axios/1.7.2", "2"] as const;

/** A retry may differ from the first attempt in all but id and body. None of them may be handled again. */
export async function expectRetriesRecognised(context: CaseContext): Promise<void> {
  await context.inGroups(context.settings.types, async (type) => {
    const delivery = await context.deliver({ type, age: 45 });
    const { id, body } = delivery;
    const retry = sentBy(await context.deliver({ type, id, body }), OTHER_WAY);
    const answers = [...(await sendTwice(context, sentBy(delivery, FIRST_WAY), retry))];
    // Other cases are about these forms. A receiver that refuses them does not handle the delivery again.
    const lower = retry.headers.map(([name, value]): HeaderLine => [name.toLowerCase(), value]);
    const charset = retry.withHeader("Content-Type", "application/json; charset=utf-8");
    const odd = [retry.with({ headers: lower.reverse() }), charset, retry.with({ chunked: true })];
    for (const request of odd) {
      const answer = await context.sendAlone(request);
      if (answer.result === "acknowledged") answers.push(answer);
    }
    for (const answer of await sendElsewhere(context, retry)) {
      // Another site may have answered.
      if (answer.outcome !== undefined) answers.push(answer);
    }
    await expectHandledOnce(context, delivery, answers);
  });
}

/** Who has captured a delivery can send it to each address and host that lead to the receiver. */
async function sendElsewhere(context: CaseContext, retry: Delivery) {
  const { settings } = context;
  const { url } = settings;
  if (url === undefined) return [];
  const { pathname, host } = url;
  const routes = [
    [`${pathname}?retry=1`, host],
    [`${pathname}/`, host],
    [pathname, "webhooks.example"],
  ] as const;
  return each(routes, ([path, host]) => {
    const send = () => sendRawRequest(new URL(path, url), settings, retry, { host });
    return context.sendBy(retry, send, true);
  });
}

function sentBy(
  delivery: Delivery,
  [address, agent, attempt]: readonly [address: string, agent: string, attempt: string],
): Delivery {
  const added: readonly HeaderLine[] = [
    ["X-Forwarded-For", address],
    ["X-Real-IP", address],
    ["User-Agent", agent],
    ["X-Webhook-Attempt", attempt],
    ["Cookie", `session=${attempt}`],
  ];
  const ids = OTHER_IDS.map((name): HeaderLine => [name, `request-${attempt}`]);
  return delivery.withMore([...added, ...ids]);
}
