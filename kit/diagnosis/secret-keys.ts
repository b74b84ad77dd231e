import { ConfigurationError } from "../../src/common/errors.js";
import { WEBHOOK_TYPES } from "../../src/common/gateway-facts.js";
import { isWebhookType, type WebhookType } from "../../src/delivery/headers.js";
import { secretFault, type SecretList, type SecretPerType } from "../../src/signature/secrets.js";
import { TEST_SECRET } from "../signed-delivery.js";
import { undo } from "./changes.js";
import type { Clue } from "./finding.js";
import { SECRET_SPELLINGS } from "./secret-spellings.js";

/**
 * One secret, several, or either for each webhook type. Faulty ones are allowed.
 *
 * @experimental
 */
export type DiagnosedSecret = SecretList | SecretPerType;

/** A secret, and the webhook type that it is given for. */
type TypedSecret = readonly [secret: string, type: WebhookType | undefined];

/**
 * The secrets that a receiver tries for a delivery with this X-Webhook-Type, and those that it has for other types. As
 * in a receiver, an unknown type has all secrets.
 *
 * @throws ConfigurationError if there is no secret, or a value that is not text.
 */
export function givenSecrets(given: unknown, type: string | undefined) {
  const byType = secretsByType(given);
  if (byType.length === 0) {
    throw new ConfigurationError("missing_secret", "secret: give at least one secret");
  }
  const own = byType.filter(([, ofType]) => ofType === undefined || ofType === type);
  const chosen = own.length > 0 || isWebhookType(type ?? "") ? own : byType;
  return {
    own: chosen.map(([secret]) => secret),
    ofOtherTypes: byType.filter((one) => !chosen.includes(one)),
  };
}

function secretsByType(given: unknown): readonly TypedSecret[] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return secretList("secret", given).map((secret) => [secret, undefined]);
  }
  return Object.entries(given).flatMap(([type, secrets]: [string, unknown]) => {
    if (isWebhookType(type)) {
      const list = secrets === undefined ? [] : secretList(`secret.${type}`, secrets);
      return list.map((secret): TypedSecret => [secret, type]);
    }
    // Without the key's name: it may be the secret, if key and value were swapped.
    const message = `secret has a key that is no webhook type: use ${WEBHOOK_TYPES.join(" and ")}`;
    throw new ConfigurationError("unusable_secret", message);
  });
}

/** The texts of a list of secrets, or of one. */
export function secretList(name: string, given: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(given) ? Array.from(given) : [given];
  return list.map((secret) => {
    if (typeof secret === "string") return secret;
    const message = `${name} must be a string or a list of strings`;
    throw new ConfigurationError("unusable_secret", message);
  });
}

/** The secrets that `createWebhookReceiver` refuses. */
export function refusedSecrets(secrets: readonly string[]): readonly Clue[] {
  return secrets.flatMap((secret, secretIndex): Clue[] => {
    if (secretFault(secret) === undefined) return [];
    const name = secretName(secrets, secretIndex);
    const unset = `${name} is empty, or the text that an unset variable becomes.`;
    const spaced = `${name} has white space or a byte order mark at an end.`;
    return secret.trim() === secret
      ? [{ code: "secret_unset", secretIndex, message: unset }]
      : [{ code: "secret_refused", secretIndex, message: spaced }];
  });
}

/** The name of a secret in a message: its index, never a part of the secret. */
function secretName(secrets: readonly string[], index: number): string {
  return secrets.length === 1 ? "The secret" : `secret[${index}]`;
}

/** A key to try, with the clues that it assumes. */
export interface KeyReading {
  readonly key: Uint8Array;
  /** Index in `secret`, if the key comes from there. */
  readonly secretIndex: number | undefined;
  readonly clues: readonly Clue[];
}

/** The keys that a sender uses when its secret is not set. */
const UNSET_SECRETS = ["", "undefined", "null", "None"];
/** Longer than any real secret: such a one is only tried unchanged. The spellings of a whole file would fill the memory. */
const MAX_CHARACTERS = 65_536;

/** The keys of the secrets as given, and those that assume one change. */
export type Keys = ReturnType<typeof keysOf>;

/** Also accidental spellings of a secret, other secrets, and the keys of a sender without a secret. */
export function keysOf(
  { own, ofOtherTypes }: ReturnType<typeof givenSecrets>,
  otherSecrets: readonly string[],
) {
  const given = own.map((secret, secretIndex) => keyOf(secret, [], secretIndex));
  const typed = ofOtherTypes.flatMap(([secret, secretType]) => {
    if (secretType === undefined) return [];
    const message = `It is signed with the secret for ${secretType}, and X-Webhook-Type does not name that type.`;
    return [keyOf(secret, [{ code: "other_secret", secretType, message }])];
  });
  const spelled = own.flatMap((secret, secretIndex) => {
    const readings = secret.length > MAX_CHARACTERS ? [] : [...undo(SECRET_SPELLINGS, secret)];
    return readings.map(({ bytes, code, what }) => {
      const message = `${secretName(own, secretIndex)} ${what}.`;
      return keyOf(bytes, [{ code, secretIndex, message }]);
    });
  });
  const others = otherSecrets.map((secret, otherSecretIndex) => {
    const message = `It is signed with another secret, number ${otherSecretIndex + 1} of otherSecrets (--other-secret), not with a value of secret.`;
    return keyOf(secret, [{ code: "other_secret", otherSecretIndex, message }]);
  });
  const published = "It is signed with the published test secret of the fixtures.";
  const test = keyOf(TEST_SECRET, [{ code: "test_secret", message: published }]);
  const message = "It is signed without a secret, or with the text that an unset variable becomes.";
  const unset = UNSET_SECRETS.map((secret) => keyOf(secret, [{ code: "secret_unset", message }]));
  // The secret may be a spelling of the test secret. Then the spelling is the cause, so it comes first.
  const keys = [...typed, ...spelled, ...others, test, ...unset];
  // Each key once, under its first name.
  const byText = new Map(keys.toReversed().map((one) => [textOf(one), one]));
  for (const one of given) byText.delete(textOf(one));
  return { given, other: [...byText.values()].reverse() };
}

function keyOf(secret: string | Uint8Array, clues: readonly Clue[], index?: number): KeyReading {
  const secretIndex = index ?? clues[0]?.secretIndex;
  return { key: Buffer.from(secret as Uint8Array), secretIndex, clues };
}

function textOf({ key }: KeyReading): string {
  return Buffer.from(key).toString("latin1");
}
