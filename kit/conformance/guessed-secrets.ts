import { TEST_SECRET } from "../signed-delivery.js";
import type { CaseContext } from "./case-context.js";
import {
  TIMESTAMP,
  TYPE,
  type Delivery,
  type MakeDelivery,
  type NamedDeliveries,
} from "./test-deliveries.js";

/** What a secret becomes by mistake when it is not set, in several languages. */
const UNSET_SECRETS = ["", " ", "\t", "\n", "[object Object]", "[object Promise]"].concat(
  '"" undefined null NULL None nil <nil> NaN false true 0 {} []'.split(" "),
);

/** What stands in examples, and in an environment that is not filled in. */
const PLACEHOLDERS =
  "v1 whsec_ secret password changeme test dev your-webhook-secret dev-secret your-secret-here ~ GATEWAY_WEBHOOK_SECRET $GATEWAY_WEBHOOK_SECRET ${GATEWAY_WEBHOOK_SECRET}".split(
    " ",
  );

/** What people write for want of a secret. Under one type alone, since they are many. */
const INVENTED = (
  "change-me change_me changeit change_this todo TODO xxx placeholder example default dummy admin root local localhost " +
  "development production staging foo foobar 1234 123456 12345678 key token hmac sha256 webhook gateway letmein s3cr3t " +
  "Secret SECRET WEBHOOK_SECRET $SECRET ${SECRET} %GATEWAY_WEBHOOK_SECRET% {{GATEWAY_WEBHOOK_SECRET}} none unset empty N/A " +
  "- . % your-secret your_secret <secret> <your-secret> your-webhook-secret-here whsec_test whsec_secret secret123 mysecret " +
  "your_webhook_secret your_webhook_secret_here your_secret_here my-secret my_secret supersecret super-secret dev_secret devsecret test-secret test_secret testsecret webhook-secret " +
  "webhook_secret webhooksecret gateway-secret default-secret local-secret demo-secret process.env.GATEWAY_WEBHOOK_SECRET"
).split(" ");

type Guess = readonly [name: string, secretFor: (delivery: Delivery) => string];

/** Keys that anyone can guess. */
const GUESSES: readonly Guess[] = [
  ...[...UNSET_SECRETS, ...PLACEHOLDERS].map(textGuess),
  ["the public test secret", () => TEST_SECRET],
  ["its own id as secret", ({ id }) => id],
  ["its own timestamp as secret", (delivery) => delivery.header(TIMESTAMP)],
  ["its own type as secret", (delivery) => delivery.header(TYPE)],
];

/** Parts of the URL, and whole. */
function urlGuesses({ settings: { url } }: CaseContext): readonly Guess[] {
  if (url === undefined) return [];
  const { host, hostname, pathname, href, origin } = url;
  return [...new Set([host, hostname, pathname, pathname.slice(1), href, origin])].map(textGuess);
}

/** Types that a JavaScript object has a member for, with the text of what is found there. */
const INHERITED_MEMBERS = ["__proto__", "constructor", "toString"].map(
  (type) => [type, textGuess(String(({} as Record<string, unknown>)[type]))] as const,
);

/** Deliveries that are signed with a key which anyone can guess. */
export async function guessedSecrets(context: CaseContext): Promise<NamedDeliveries> {
  const lists = await Promise.all([
    context.ofEachType((deliver) => forgeries(deliver, GUESSES)),
    forgeries(withType(context, "x"), GUESSES, " under the unknown type x"),
    forgeries(context.deliver, [...INVENTED.map(textGuess), ...urlGuesses(context)]),
    ...INHERITED_MEMBERS.map(([type, guess]) =>
      forgeries(withType(context, type), [guess], ` under the type ${type}`),
    ),
  ]);
  return lists.flat();
}

/** A genuine delivery for each guess, signed with the guess. */
async function forgeries(deliver: MakeDelivery, guesses: readonly Guess[], under = "") {
  const forged = guesses.map(async ([name, secretFor]) => {
    const delivery = await deliver();
    const guessed = secretFor(delivery);
    // A receiver with this secret is right to accept it.
    return guessed === delivery.secret
      ? []
      : [[`${name}${under}`, delivery.signedWith(guessed)] as const];
  });
  return (await Promise.all(forged)).flat();
}

/** Makes genuine deliveries under another X-Webhook-Type, which the signature does not cover. */
function withType({ deliver }: CaseContext, type: string): MakeDelivery {
  return async (changes) => (await deliver(changes)).withHeader(TYPE, type);
}

function textGuess(secret: string): Guess {
  return [`the secret ${JSON.stringify(secret)}`, () => secret];
}
