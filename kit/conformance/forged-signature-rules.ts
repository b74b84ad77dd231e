import { TEST_SECRET } from "../signed-delivery.js";
import type { CaseContext } from "./case-context.js";
import type { ConformanceRules } from "./conformance-rule.js";
import type { Named } from "./expectations.js";
import { headerOf, SIGNATURE, signedWith, TIMESTAMP, TYPE, withHeader } from "./request-changes.js";
import { ofEachType } from "./rule-kinds.js";
import type { Delivery, MakeDelivery } from "./test-deliveries.js";

const PREFIX = "v1=";
const DIGITS = 64;

type NamedDigits = readonly [name: string, digits: string];

const INCOMPLETE = [
  ["no digit", PREFIX],
  ["zeros", `${PREFIX}${"0".repeat(DIGITS)}`],
  ["the letter z for each digit", `${PREFIX}${"z".repeat(DIGITS)}`],
  ["another version", `v0=${"0".repeat(DIGITS)}`],
] as const;

/** A signature that is almost the right one must be refused. */
export const changedSignatureRules: ConformanceRules = {
  partial_signature: {
    title: "an incomplete or changed signature is refused",
    refuse: async ({ deliver }) => {
      const delivery = await deliver();
      const mac = headerOf(delivery, SIGNATURE).slice(PREFIX.length);
      const changed: readonly NamedDigits[] = [
        ...changedDigits(mac),
        ...otherOrders(mac),
        ["another letter case in base64", otherCaseInBase64(mac)],
      ];
      return [
        ["only 8 digits", `${PREFIX}${mac.slice(0, 8)}`] as const,
        ...INCOMPLETE,
        ["one digit too few", `${PREFIX}${mac.slice(0, -1)}`] as const,
        ...changed.map(([name, digits]) => [name, `${PREFIX}${digits}`] as const),
      ].map(([name, signature]) => [name, withHeader(delivery, SIGNATURE, signature)]);
    },
  },
};

/** Each digit by itself, since a comparison may skip any of them. */
function changedDigits(mac: string): readonly NamedDigits[] {
  return [
    ...Array.from(mac, (_, at): NamedDigits => [
      `digit ${at + 1} changed`,
      withChanged(mac, at, at + 1),
    ]),
    ["the first half changed", withChanged(mac, 0, DIGITS / 2)],
    ["the second half changed", withChanged(mac, DIGITS / 2, DIGITS)],
  ];
}

/** The same digits or the same sum in another order, for comparisons that add up or sort. */
function otherOrders(mac: string): readonly NamedDigits[] {
  const bytes = Buffer.from(mac, "hex");
  const other = bytes.findIndex((byte) => byte !== bytes[0]);
  const swapped = Buffer.from(bytes);
  [swapped[0], swapped[other]] = [bytes[other] ?? 0, bytes[0] ?? 0];
  const balanced = Buffer.from(bytes);
  const [low, high] = [
    bytes.findIndex((byte) => byte < 255),
    bytes.findLastIndex((byte) => byte > 0),
  ];
  balanced[low] = (bytes[low] ?? 0) + 1;
  balanced[high] = (bytes[high] ?? 0) - 1;
  return [
    ["two bytes swapped", swapped.toString("hex")],
    ["one byte greater and another one smaller", balanced.toString("hex")],
    ["the bytes in reverse", Buffer.from(bytes).reverse().toString("hex")],
    ["the digits in reverse", Array.from(mac).reverse().join("")],
    ["the digits sorted", Array.from(mac).sort().join("")],
  ];
}

/** Other bytes that differ only in letter case when both are written as base64. */
function otherCaseInBase64(mac: string): string {
  const text = Buffer.from(mac, "hex").toString("base64");
  const changed = text.replace(/[a-z]/i, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
  return Buffer.from(changed, "base64").toString("hex");
}

/** The digits with those between two positions changed. */
function withChanged(mac: string, from: number, to: number): string {
  return mac.replace(/./g, (digit, at: number) =>
    at >= from && at < to ? (15 - Number.parseInt(digit, 16)).toString(16) : digit,
  );
}

/** What a secret becomes by mistake when it is not set, in several languages. */
const UNSET_SECRETS = [
  "",
  " ",
  "\t",
  "\n",
  '""',
  "undefined",
  "null",
  "NULL",
  "None",
  "nil",
  "<nil>",
  "NaN",
  "false",
  "true",
  "0",
  "{}",
  "[]",
  "[object Object]",
  "[object Promise]",
];

/** What stands in examples, and in an environment that is not filled in. */
const PLACEHOLDERS = [
  "v1",
  "whsec_",
  "secret",
  "password",
  "changeme",
  "test",
  "dev",
  "your-webhook-secret",
  "GATEWAY_WEBHOOK_SECRET",
  "$GATEWAY_WEBHOOK_SECRET",
  "${GATEWAY_WEBHOOK_SECRET}",
];

type Guess = readonly [name: string, secretFor: (delivery: Delivery) => string];

/** Keys that anyone can guess. */
const GUESSES: readonly Guess[] = [
  ...[...UNSET_SECRETS, ...PLACEHOLDERS].map(textGuess),
  ["the public test secret", () => TEST_SECRET],
  ["its own id as secret", ({ id }) => id],
  ["its own timestamp as secret", (delivery) => headerOf(delivery, TIMESTAMP)],
  ["its own type as secret", (delivery) => headerOf(delivery, TYPE)],
];

/** Types that a JavaScript object has a member for, with the text of what is found there. */
const INHERITED_MEMBERS = ["__proto__", "constructor", "toString"].map(
  (type) => [type, textGuess(String(({} as Record<string, unknown>)[type]))] as const,
);

/** A delivery that is signed with a key which anyone can guess must be refused. */
export const guessableSecretRules: ConformanceRules = {
  guessable_secret: {
    title: "a delivery signed with an empty, missing or public secret is refused",
    why: 'With a list such as `[secret, process.env.OLD_SECRET ?? ""]`, or with `secrets[type] ?? ""`, anyone can sign: an unset variable is a known key.',
    fix: "Refuse to start with an empty or undefined secret, in each place of a list, and refuse a type that has none. Use the public test secret in tests only.",
    refuse: async (context) => {
      const unknownType = withType(context, "x");
      const inherited = INHERITED_MEMBERS.map(([type, guess]) =>
        forgeries(context, withType(context, type), [guess], ` under the type ${type}`),
      );
      const lists = await Promise.all([
        ofEachType(context, (deliver) => forgeries(context, deliver, GUESSES)),
        forgeries(context, unknownType, GUESSES, " under the unknown type x"),
        ...inherited,
      ]);
      return lists.flat();
    },
  },
};

/** A genuine delivery for each guess, signed with the guess. */
async function forgeries(
  { settings: { secret } }: CaseContext,
  deliver: MakeDelivery,
  guesses: readonly Guess[],
  under = "",
): Promise<readonly Named<Delivery>[]> {
  const forged = guesses.map(async ([name, secretFor]) => {
    const delivery = await deliver();
    const guessed = secretFor(delivery);
    // A receiver with this secret is right to accept it.
    return guessed === secret ? [] : [[`${name}${under}`, signedWith(delivery, guessed)] as const];
  });
  return (await Promise.all(forged)).flat();
}

/** Makes genuine deliveries under another X-Webhook-Type, which the signature does not cover. */
function withType({ deliver }: CaseContext, type: string): MakeDelivery {
  return async (changes) => withHeader(await deliver(changes), TYPE, type);
}

function textGuess(secret: string): Guess {
  return [`the secret ${JSON.stringify(secret)}`, () => secret];
}
