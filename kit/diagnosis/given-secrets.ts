import { ConfigurationError } from "../../src/common/errors.js";
import { isWebhookType, WEBHOOK_TYPES, type WebhookType } from "../../src/delivery/headers.js";
import type { SecretList } from "../../src/signature/secrets.js";

/**
 * One secret, several, or either for each webhook type. Faulty ones are allowed.
 *
 * @experimental
 */
export type DiagnosedSecret = SecretList | Readonly<Partial<Record<WebhookType, SecretList>>>;

/** The secret of another webhook type than the delivery names. */
export interface SecretOfType {
  readonly type: WebhookType;
  readonly secret: string;
}

/** The secrets that a receiver tries for a delivery, and those that it has for other types. */
export interface GivenSecrets {
  readonly own: readonly string[];
  readonly ofOtherTypes: readonly SecretOfType[];
}

/**
 * The secrets for a delivery with this X-Webhook-Type. As in a receiver, an unknown type has all secrets.
 *
 * @throws ConfigurationError if there is no secret, or a value that is not text.
 */
export function givenSecrets(given: unknown, type: string | undefined): GivenSecrets {
  const byType = secretsByType(given);
  const own = byType.filter((one) => one.type === undefined || one.type === type);
  const chosen = own.length > 0 || isWebhookType(type ?? "") ? own : byType;
  const others = byType.filter((one) => !chosen.includes(one));
  if (byType.length === 0) {
    throw new ConfigurationError("missing_secret", "secret: give at least one secret");
  }
  return {
    own: chosen.map(({ secret }) => secret),
    ofOtherTypes: others.flatMap(({ type: ofType, secret }) =>
      ofType === undefined ? [] : [{ type: ofType, secret }],
    ),
  };
}

function secretsByType(given: unknown): { type: WebhookType | undefined; secret: string }[] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return secretList("secret", given).map((secret) => ({ type: undefined, secret }));
  }
  if (!Object.keys(given).every(isWebhookType)) {
    // Without the key's name: it may be the secret, if key and value were swapped.
    throw new ConfigurationError(
      "unusable_secret",
      `secret has a key that is no webhook type: use ${WEBHOOK_TYPES.join(" and ")}`,
    );
  }
  return WEBHOOK_TYPES.flatMap((type) => {
    const secrets: unknown = (given as Readonly<Record<string, unknown>>)[type];
    if (secrets === undefined) return [];
    return secretList(`secret.${type}`, secrets).map((secret) => ({ type, secret }));
  });
}

/** The texts of a list of secrets, or of one. */
export function secretList(name: string, given: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(given) ? Array.from(given) : [given];
  return list.map((secret) => {
    if (typeof secret === "string") return secret;
    throw new ConfigurationError(
      "unusable_secret",
      `${name} must be a string or a list of strings`,
    );
  });
}
