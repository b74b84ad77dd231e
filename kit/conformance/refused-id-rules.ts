import type { CaseContext } from "./case-context.js";
import type { ConformanceSettings } from "./conformance-options.js";
import type { ConformanceRules } from "./conformance-rule.js";
import { expectHandledOnce } from "./duplicates.js";
import { expectAccepted, type Named, type NamedDeliveries } from "./expectations.js";
import type { ReceiverAnswer } from "./receiver-answer.js";
import {
  headerOf,
  signedWith,
  SIGNATURE,
  TIMESTAMP,
  TYPE,
  withBody,
  withHeader,
} from "./request-changes.js";
import { sendUntilAcknowledged } from "./resending.js";
import { each, type Delivery } from "./test-deliveries.js";

/** A request that a receiver refuses, made from a genuine delivery whose id it keeps. */
type Spoil = (
  delivery: Delivery,
  settings: Pick<ConformanceSettings, "secret" | "types">,
) => Delivery;

const HOUR_S = 3_600;

/** One for each step at which a receiver can refuse. */
const SPOILED: readonly Named<Spoil>[] = [
  ["another secret", (delivery) => signedWith(delivery, "whsec_of_another_webhook")],
  ["no signature", (delivery) => withHeader(delivery, SIGNATURE)],
  ["a malformed signature", (delivery) => withHeader(delivery, SIGNATURE, "v1=00")],
  ["no timestamp", (delivery) => withHeader(delivery, TIMESTAMP)],
  ["no type", (delivery) => withHeader(delivery, TYPE)],
  ["an hour old", (delivery, { secret }) => signedWith(anHourOld(delivery), secret)],
  ["another type", (delivery, { types }) => withHeader(delivery, TYPE, otherType(delivery, types))],
  ["a new type", (delivery) => withHeader(delivery, TYPE, "account_closed")],
  ["broken JSON", (delivery, { secret }) => signedWith(withBody(delivery, '{"alarm":'), secret)],
  [
    "an unknown record",
    (delivery, { secret }) => signedWith(withBody(delivery, '{"account":{}}'), secret),
  ],
  ["PUT", (delivery) => ({ ...delivery, method: "PUT" })],
];

const CHECK_FIRST =
  "Read and write the memory of handled ids only when the signature, the timestamp and the type are verified, and write it only when the handler has succeeded.";

/** A refused request must change nothing that is remembered. */
export const refusedIdRules: ConformanceRules = {
  forged_duplicate: {
    title: "a refused request with the id of a genuine delivery does not block it",
    why: "Someone who learns or guesses an id could make its alarm count as handled. A delivery that you could not read would be lost when the gateway sends it again.",
    fix: CHECK_FIRST,
    async whenAccepted(context) {
      const deliveries = await oneForEach(context);
      const refused = await sendSpoiled(context, deliveries);
      const answers = await sendAll(context, refused);
      for (const [at, [name, { id }]] of refused.entries()) {
        const [answer, wasResent] = answers[at] ?? [];
        if (answer === undefined) continue;
        await expectAccepted(context, `the genuine delivery after ${name}`, id, answer);
        if (context.settings.handled !== undefined) continue;
        // A delivery that got no answer at first may have been handled all the same.
        if (answer.outcome === "duplicate" && !wasResent) {
          throw context.failure(
            "taken_for_duplicate",
            `the genuine delivery after ${name}: answered as a duplicate`,
          );
        }
        if (answer.outcome === undefined) context.leaveUnjudged("handled");
        else context.noteTrustedOutcome();
      }
    },
  },
  refusal_forgets_nothing: {
    title: "a refused request with the id of a handled delivery does not make it forgotten",
    why: "Anyone who learns an id could have its alarm handled again at the next retry. A customer is warned twice.",
    fix: `${CHECK_FIRST} Release an id only if this request had claimed it.`,
    async whenAccepted(context) {
      const deliveries = await oneForEach(context);
      const first = await sendAll(context, deliveries);
      const refused = await sendSpoiled(context, deliveries);
      const again = await sendAll(context, refused);
      for (const [at, [name, delivery]] of refused.entries()) {
        const [answer] = again[at] ?? [];
        const [before] = first[deliveries.findIndex(([, { id }]) => id === delivery.id)] ?? [];
        if (answer === undefined || before === undefined) continue;
        context.expectAcknowledged(`a duplicate after ${name}`, answer);
        await expectHandledOnce(context, delivery, [before, answer]);
      }
    },
  },
};

/** A genuine delivery for each way to spoil one, of each registered type in turn. */
function oneForEach(context: CaseContext): Promise<NamedDeliveries> {
  const { types } = context.settings;
  return each(SPOILED, async ([name], at) => {
    return [name, await context.deliver({ type: types[at % types.length] })] as const;
  });
}

/** Sends the spoiled requests. Returns the deliveries whose request was not taken for a genuine one. */
async function sendSpoiled(
  context: CaseContext,
  deliveries: NamedDeliveries,
): Promise<NamedDeliveries> {
  const sent = deliveries.map(async (named, at) => {
    const [, spoil] = SPOILED[at] ?? [];
    if (spoil === undefined) return [];
    const answer = await context.send(spoil(named[1], context.settings));
    // Other cases are about what is wrong with that. An endpoint may also handle what it does not know.
    return answer.result === "acknowledged" ? [] : [named];
  });
  return (await Promise.all(sent)).flat();
}

/** Sends deliveries at the same time, each until it is acknowledged. */
function sendAll(
  context: CaseContext,
  deliveries: NamedDeliveries,
): Promise<readonly (readonly [last: ReceiverAnswer, wasResent: boolean])[]> {
  return each(deliveries, async ([, delivery]) => {
    let sends = 0;
    const last = await sendUntilAcknowledged(context, () => {
      sends += 1;
      // On its own connection: a stale one could send it twice, a duplicate of itself.
      return context.sendAlone(delivery);
    });
    return [last, sends > 1] as const;
  });
}

function anHourOld(delivery: Delivery): Delivery {
  return withHeader(delivery, TIMESTAMP, String(Number(headerOf(delivery, TIMESTAMP)) - HOUR_S));
}

/** A registered type, if there is another one. */
function otherType(delivery: Delivery, types: readonly string[]): string {
  const own = headerOf(delivery, TYPE);
  return types.find((type) => type !== own) ?? "account_closed";
}
