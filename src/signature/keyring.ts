import { LRUCache } from "lru-cache";
import { ConfigurationError, GatewayWebhookError } from "../common/errors.js";
import { WEBHOOK_TYPES } from "../common/gateway-facts.js";
import {
  isSignature,
  isWebhookType,
  type DeliveryHeaders,
  type WebhookType,
} from "../delivery/headers.js";
import type { ValueOrPromise } from "../common/promises.js";
import { SecretLookups, type FoundSecrets } from "./secret-lookups.js";
import {
  keysOf,
  secretFault,
  type SecretList,
  type SecretOption,
  createSecretKey,
  type SecretKey,
  type Secrets,
} from "./secrets.js";
import type { WeakSecretCheck } from "./weak-secrets.js";

/** Finds the secrets of a delivery. There is one class for each form of the option `secret`. */
export interface Keyring {
  /** The secrets to try. Throws or rejects if there is no usable one. */
  secretsFor(headers: DeliveryHeaders): ValueOrPromise<Secrets>;
  /** The secrets of a type, as far as they are known before a delivery. */
  known(type: WebhookType): readonly SecretKey[];
}

/**
 * The keyring of a `secret` option. Each secret is checked for weakness: immediately, or when a function
 * returns it for the first time. `isMismatchFinal`: the gateway gives up a delivery for which no secret is found,
 * so every secret must be known before one is refused. Throws `ConfigurationError` for a value that cannot be a secret.
 */
export function keyringOf(
  secret: SecretOption,
  dependencyTimeoutMs: number,
  weakSecretCheck: WeakSecretCheck,
  isMismatchFinal: boolean,
): Keyring {
  if (typeof secret === "function") {
    const lookups = new SecretLookups(secret, dependencyTimeoutMs);
    return new LookedUpKeyring(lookups, weakSecretCheck, isMismatchFinal);
  }
  const isList = typeof secret === "string" || Array.isArray(secret) || ArrayBuffer.isView(secret);
  const keyring = isList
    ? sharedKeyring(secret as SecretList)
    : keyringByType(secret as Readonly<Record<string, SecretList>>);
  const texts = typeof secret === "object" ? (Object.values(secret).flat() as string[]) : [secret];
  for (const text of texts) weakSecretCheck.check(text);
  return keyring;
}

/** The same secrets for every delivery. */
function sharedKeyring(secret: SecretList): Keyring {
  const secrets: Secrets = { order: keysOf(secret) };
  return { secretsFor: () => secrets, known: () => secrets.order };
}

/** Secrets for each webhook type. */
function keyringByType(secrets: Readonly<Record<string, SecretList | undefined>>): Keyring {
  if (!Object.keys(secrets).every(isWebhookType)) {
    // Without the key's name: it may be the secret, if key and value were swapped.
    throw new ConfigurationError(
      "unusable_secret",
      `secret has a key that is no webhook type: use ${WEBHOOK_TYPES.join(" and ")}`,
    );
  }
  const byType = new Map<string, Secrets>();
  for (const type of WEBHOOK_TYPES) {
    const given = Object.hasOwn(secrets, type) ? secrets[type] : undefined;
    if (given === undefined) {
      throw new ConfigurationError(
        "missing_secret",
        `secret.${type} is not given (is the environment variable set?): where only one type is registered, pass its secret as a string`,
      );
    }
    byType.set(type, { order: keysOf(given, `secret.${type}`) });
  }
  const all: Secrets = { order: [...byType.values()].flatMap(({ order }) => order) };
  return {
    // An unknown type has no secret of its own. Any secret may sign it: the signed body decides what it is.
    secretsFor: ({ type }) => byType.get(type) ?? all,
    known: (type) => byType.get(type)?.order ?? [],
  };
}

/**
 * Number of cached keys of secrets that a function returned, so that a key is not made for every
 * request.
 */
const MAX_CACHED_KEYS = 1_000;

const NO_SECRETS: Secrets = { order: [] };
/** Stands for a first secret that is not known yet, so that its matches exist at 0. */
const UNKNOWN = createSecretKey("unknown", 0);

/** The secrets that a function returns for a delivery. */
class LookedUpKeyring implements Keyring {
  readonly #lookups: SecretLookups;
  readonly #weakSecretCheck: WeakSecretCheck;
  readonly #isMismatchFinal: boolean;
  readonly #cache = new LRUCache<string, SecretKey>({ max: MAX_CACHED_KEYS });

  constructor(lookups: SecretLookups, weakSecretCheck: WeakSecretCheck, isMismatchFinal: boolean) {
    this.#lookups = lookups;
    this.#weakSecretCheck = weakSecretCheck;
    this.#isMismatchFinal = isMismatchFinal;
  }

  secretsFor({ type, signature }: DeliveryHeaders): ValueOrPromise<Secrets> {
    // No secret makes this signature, so the function is not called.
    if (signature !== undefined && !isSignature(signature)) return NO_SECRETS;
    return isWebhookType(type) ? this.#secretsOf(type) : this.#secretsOfAll();
  }

  /**
   * A stranger chooses an unknown type, so the function gets the documented ones and caches nothing for him. A type
   * whose secret fails is left out if the other one answers: where only one type is registered, a vault has no secret
   * of the other, and a stranger must not cause a 503.
   */
  async #secretsOfAll(): Promise<Secrets> {
    const all = await Promise.allSettled(WEBHOOK_TYPES.map(async (type) => this.#secretsOf(type)));
    const found = all.filter((one) => one.status === "fulfilled");
    const failed = all.find((one) => one.status === "rejected");
    if (failed !== undefined && (this.#isMismatchFinal || found.length === 0)) throw failed.reason;
    return { order: found.flatMap(({ value }) => value.order) };
  }

  #secretsOf(type: WebhookType): ValueOrPromise<Secrets> {
    const found = this.#lookups.lookUp(type);
    return found instanceof Promise
      ? found.then((secrets) => this.#usableSecrets(secrets))
      : this.#usableSecrets(found);
  }

  known(): readonly SecretKey[] {
    return [UNKNOWN];
  }

  #usableSecrets(found: FoundSecrets): Secrets {
    // A sender who is not registered for the type, and no fault of the function.
    if (found === undefined || found === null) return NO_SECRETS;
    if (Array.isArray(found) && found.length === 0) return NO_SECRETS;
    const secrets: readonly unknown[] = Array.isArray(found) ? found : [found];
    const keys: SecretKey[] = [];
    secrets.forEach((secret, index) => {
      // The old secret, for example, when a rotation has ended.
      if (secret === undefined || secret === null) return;
      const fault = secretFault(secret);
      if (fault === undefined) keys.push(this.#keyOf(secret as string, index));
      else this.#weakSecretCheck.warnUnusable(index, fault);
    });
    if (keys.length === 0) {
      throw new GatewayWebhookError(
        "no_usable_secret",
        "the secret function returned no usable secret: a non-empty string, or a list with one",
      );
    }
    return { order: keys };
  }

  #keyOf(secret: string, index: number): SecretKey {
    const place = `${String(index)} ${secret}`;
    const known = this.#cache.get(place);
    if (known !== undefined) return known;
    const made = createSecretKey(secret, index);
    this.#cache.set(place, made);
    this.#weakSecretCheck.check(secret);
    return made;
  }
}
