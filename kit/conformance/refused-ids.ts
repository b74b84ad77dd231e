import { setTimeout as wait } from "node:timers/promises";
import type { CaseContext } from "./case-context.js";
import type { ConformanceSettings } from "./conformance-options.js";
import { expectHandledOnce, sendConcurrently, sendTwice } from "./duplicates.js";
import { times } from "./receiver-answer.js";
import type { LoggedDelivery } from "./suite-state.js";
import {
  each,
  inPool,
  OTHER_SECRET,
  SIGNATURE,
  TIMESTAMP,
  TYPE,
  unsignedRequest,
  wrongSecret,
  type Delivery,
  type Named,
  type NamedDeliveries,
} from "./test-deliveries.js";

/** A request that a receiver refuses, made from a genuine delivery whose id it keeps. */
type MakeInvalid = (delivery: Delivery, types: ConformanceSettings["types"]) => Delivery;

const HOUR_S = 3_600;
/** How many counts are read at the same time. */
const COUNTS_AT_A_TIME = 16;

/** One for each step at which a receiver can refuse. */
const INVALID: readonly Named<MakeInvalid>[] = [
  ["another secret", (delivery) => delivery.signedWith(OTHER_SECRET)],
  ["no signature", (delivery) => delivery.withHeader(SIGNATURE)],
  ["a malformed signature", (delivery) => delivery.withHeader(SIGNATURE, "v1=00")],
  ["no timestamp", (delivery) => delivery.withHeader(TIMESTAMP)],
  ["no type", (delivery) => delivery.withHeader(TYPE)],
  ["an hour old", (delivery) => anHourOld(delivery).signedWith()],
  ["another type", (delivery, types) => delivery.withHeader(TYPE, otherType(delivery, types))],
  ["a new type", (delivery) => delivery.withHeader(TYPE, "account_closed")],
  ["broken JSON", (delivery) => delivery.withBody('{"alarm":').signedWith()],
  ["an unknown record", (delivery) => delivery.withBody('{"account":{}}').signedWith()],
  ...["PUT", "DELETE"].map((method): Named<MakeInvalid> => {
    return [method, (delivery) => delivery.with({ method })];
  }),
];

/** A genuine delivery must be handled after a refused request with its id. */
export async function expectNoIdBlocked(context: CaseContext): Promise<void> {
  const refused = await sendInvalid(context, await oneForEach(context));
  const answers = await sendAll(context, refused);
  for (const [at, [name, { id }]] of refused.entries()) {
    const [answer, wasResent] = answers[at] ?? [];
    if (answer === undefined) continue;
    const which = `the genuine delivery after ${name}`;
    await context.expectAccepted(which, id, answer);
    if (context.settings.handled !== undefined) continue;
    // A delivery that got no answer at first may have been handled all the same.
    if (answer.outcome === "duplicate" && !wasResent) {
      throw context.failure("taken_for_duplicate", `${which}: answered as a duplicate`);
    }
    context.trustOutcome(answer);
  }
}

/** A handled delivery must stay handled after a refused request with its id. */
export async function expectNoIdForgotten(context: CaseContext): Promise<void> {
  const deliveries = await oneForEach(context);
  const first = await sendAll(context, deliveries);
  const refused = await sendInvalid(context, deliveries);
  const again = await sendAll(context, refused);
  for (const [at, [name, delivery]] of refused.entries()) {
    const [answer] = again[at] ?? [];
    const [before] = first[deliveries.findIndex(([, { id }]) => id === delivery.id)] ?? [];
    if (answer === undefined || before === undefined) continue;
    context.expectAcknowledged(`a duplicate after ${name}`, answer);
    await expectHandledOnce(context, delivery, [before, answer]);
  }
}

/** A genuine delivery for each of these requests, of each registered type in turn. */
async function oneForEach(context: CaseContext): Promise<NamedDeliveries> {
  const deliveries = await context.ofAllTypes(INVALID.length);
  return deliveries.map((delivery, at) => [INVALID[at]?.[0] ?? "", delivery]);
}

/** Sends the invalid requests. Returns the deliveries whose request was not taken for a genuine one. */
async function sendInvalid(context: CaseContext, deliveries: NamedDeliveries) {
  const sent = await each(INVALID, async ([, makeInvalid], at) => {
    const named = deliveries[at];
    if (named === undefined) return [];
    const answer = await context.send(makeInvalid(named[1], context.settings.types));
    // Other cases are about what is wrong with that. An endpoint may also handle what it does not know.
    return answer.result === "acknowledged" ? [] : [named];
  });
  return sent.flat();
}

/** Sends deliveries at the same time, each until it is acknowledged. */
function sendAll(context: CaseContext, deliveries: NamedDeliveries) {
  return each(deliveries, async ([, delivery]) => {
    let sends = 0;
    const last = await context.sendUntilAcknowledged(() => {
      sends += 1;
      // On its own connection: a stale one could send it twice, a duplicate of itself.
      return context.sendAlone(delivery);
    });
    return [last, sends > 1] as const;
  });
}

function anHourOld(delivery: Delivery): Delivery {
  return delivery.withHeader(TIMESTAMP, String(Number(delivery.header(TIMESTAMP)) - HOUR_S));
}

/** A registered type, if there is another one. */
function otherType(delivery: Delivery, types: readonly string[]): string {
  const own = delivery.header(TYPE);
  return types.find((type) => type !== own) ?? "account_closed";
}

/** Counts everything once more after the other cases: an effect may come long after the answer. */
export async function expectNothingLate(context: CaseContext): Promise<void> {
  await sendWhatMayComeLate(context);
  const { first } = context.suite;
  if (first !== undefined)
    await context.acceptInTheEnd("the first delivery of the run, sent again", first);
  const logged = context.suite.log.take();
  await wait(context.settings.handledWithinMs);
  await inPool(logged, COUNTS_AT_A_TIME, (one) => expectNoMore(context, one));
  context.suite.log.take();
}

/** A forgery, an unsigned request, a duplicate and concurrent duplicates, so that the case also works alone. */
async function sendWhatMayComeLate(context: CaseContext): Promise<void> {
  const forged = await context.ofEachType(async (deliver) => [
    await wrongSecret(deliver),
    await unsignedRequest(deliver),
  ]);
  await context.inGroups(forged, ([name, request]) => context.refuse(name, request));
  await context.inGroups(context.settings.types, async (type) => {
    const [one, other] = [await context.deliver({ type }), await context.deliver({ type })];
    await sendTwice(context, one);
    await sendConcurrently(context, other);
    for (const { id } of [one, other]) await context.settledRunsOf(id);
  });
}

async function expectNoMore(context: CaseContext, { id, runs, isForged }: LoggedDelivery) {
  const later = (await context.runsOf(id)) ?? 0;
  if (later <= Math.max(runs, isForged ? 0 : 1)) return;
  const what = isForged ? "a refused request" : "a delivery";
  const message = `${what} with the id ${id} was handled ${times(runs)} when its case ended, and ${times(later)} some time later`;
  throw context.failure("handled_late", message);
}
