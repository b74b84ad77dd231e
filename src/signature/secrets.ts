import { LRUCache } from "lru-cache";
import { ConfigurationError } from "../common/errors.js";
import {
  isSignature,
  type DeliveryHeaders,
  WEBHOOK_TYPES,
  isWebhookType,
  type WebhookType,
} from "../delivery/headers.js";
import type { MaybeLater, MaybePromise } from "../common/promises.js";
import { limitLookups, type LookupLimits } from "./secret-lookups.js";
import { createSecretKey, type SecretKey, type Secrets } from "./signature.js";

/** One secret, or several during a rotation. One of them must match. */
export type SecretList = string | readonly string[];

/**
 * What a secret function receives. Nothing here is verified yet, so use it only to look up the
 * secret.
 */
export interface SecretQuery {
  /** X-Webhook-Id. */
  readonly id: string;
  /** X-Webhook-Type, which the signature does not cover. */
  readonly type: string;
  /** X-Webhook-Timestamp. */
  readonly timestamp: Date;
}

/**
 * Finds the secrets of a delivery. If it returns undefined, null or an empty list, the sender is
 * unknown: 409 `signature_mismatch`. If it throws, returns a value that cannot be a secret, or
 * takes longer than `dependencyTimeoutMs`: 503 `secret_unavailable`. At most
 * `maxConcurrentDeliveries` calls run at the same time; others wait, within that time.
 */
export type SecretFunction = (query: SecretQuery) => MaybePromise<SecretList | null | undefined>;

/**
 * The four forms of `secret`: one, a list, a list for each webhook type (one URL may be registered
 * once per type, each with its own secret), or a function.
 */
export type SecretOption = SecretList | Readonly<Record<WebhookType, SecretList>> | SecretFunction;

/** Returns the secrets to try. Throws or rejects if there is no usable one. */
export type Keyring = (headers: DeliveryHeaders) => MaybeLater<Secrets>;

/**
 * Number of cached keys of secrets that a function returned, so that a key is not made for every
 * request.
 */
const MAX_CACHED_KEYS = 1_000;

const NO_SECRETS: Secrets = { order: [] };

/**
 * Makes the keyring of a `secret` option. Calls `onSecret` with each secret: immediately, or when a
 * function returns it for the first time. Throws `ConfigurationError` for a value that cannot be a
 * secret.
 */
export function createKeyring(
  secret: SecretOption,
  limits: LookupLimits,
  onSecret: (secret: string) => void,
): Keyring {
  if (typeof secret === "function") return functionKeyring(secret, limits, onSecret);
  const keyring = staticKeyring(secret);
  const texts = typeof secret === "object" ? Object.values(secret).flat() : [secret];
  for (const text of texts) onSecret(text);
  return keyring;
}

function staticKeyring(secret: Exclude<SecretOption, SecretFunction>): Keyring {
  if (typeof secret === "string" || Array.isArray(secret) || ArrayBuffer.isView(secret)) {
    const secrets = { order: keysOf(secret as SecretList) };
    return () => secrets;
  }
  return typedKeyring(secret as Readonly<Record<string, SecretList>>);
}

/**
 * The keys of a list of secrets, in its order. Throws `ConfigurationError` for an unusable secret.
 */
export function keysOf(secret: SecretList, name = "secret"): SecretKey[] {
  if (typeof secret === "string" || ArrayBuffer.isView(secret)) {
    // `keyOf` refuses bytes and says why.
    return [keyOf(secret as string, 0, name)];
  }
  if (!Array.isArray(secret) || secret.length === 0) {
    throw new ConfigurationError(
      "missing_secret",
      `${name}: give the secret chosen at webhook registration, as a string or a list of strings`,
    );
  }
  // `Array.from`, because `map` skips the holes of a list.
  return Array.from(secret as readonly string[], (one, at) =>
    keyOf(one, at, `${name}[${String(at)}]`),
  );
}

/**
 * The key of one secret. Throws `ConfigurationError` for a value that cannot be a secret; `name`
 * says which one.
 */
export function keyOf(secret: string, index = 0, name = "secret"): SecretKey {
  const fault = faultOf(secret);
  if (fault !== undefined) throw new ConfigurationError("unusable_secret", `${name} ${fault}`);
  return createSecretKey(secret, index);
}

/**
 * Why a text cannot be a secret. Each case is an accident seen in deployments, and none is a secret
 * that anyone chose.
 */
function faultOf(secret: unknown): string | undefined {
  if (typeof secret !== "string") return "is not text: pass a string, not the bytes of a file";
  if (secret === "") return "is empty: is the environment variable set?";
  if (secret.trim() !== secret) {
    return "has white space at an end: trim it where it is read, a file often ends with a newline";
  }
  if (secret === "undefined" || secret === "null") {
    return `is the text "${secret}": something that was not set has been made a string`;
  }
  return undefined;
}

function typedKeyring(secrets: Readonly<Record<string, SecretList | undefined>>): Keyring {
  if (!Object.keys(secrets).every(isWebhookType)) {
    // Without the key's name: it may be the secret, if key and value were swapped.
    throw new ConfigurationError(
      "unusable_secret",
      `secret has a key that is no webhook type: use ${WEBHOOK_TYPES.join(" and ")}`,
    );
  }
  const all: SecretKey[] = [];
  const byType = new Map<string, Secrets>();
  for (const type of WEBHOOK_TYPES) {
    const given = Object.hasOwn(secrets, type) ? secrets[type] : undefined;
    if (given === undefined) {
      throw new ConfigurationError(
        "missing_secret",
        `secret.${type} is not given: where only one type is registered, pass its secret as a string`,
      );
    }
    const keys = keysOf(given, `secret.${type}`);
    byType.set(type, { order: keys });
    all.push(...keys);
  }
  const any = { order: all };
  // An unknown type has no secret of its own. Any secret may sign it: the signed body decides what
  // it is.
  return ({ type }) => byType.get(type) ?? any;
}

function functionKeyring(
  find: SecretFunction,
  limits: LookupLimits,
  onSecret: (secret: string) => void,
): Keyring {
  const cache = new LRUCache<string, SecretKey["key"]>({ max: MAX_CACHED_KEYS });

  const lookUp = limitLookups(find, limits);

  const usableSecrets = (found: SecretList | null | undefined): Secrets => {
    // Anyone can send an unknown type or id, so this is not a 503.
    if (found === undefined || found === null) return NO_SECRETS;
    if (Array.isArray(found) && found.length === 0) return NO_SECRETS;
    const secrets: readonly unknown[] = Array.isArray(found) ? found : [found];
    const keys: SecretKey[] = [];
    secrets.forEach((secret, index) => {
      if (faultOf(secret) !== undefined) return;
      const text = secret as string;
      const known = cache.get(text);
      const made = known === undefined ? createSecretKey(text, index) : { key: known, index };
      if (known === undefined) {
        cache.set(text, made.key);
        onSecret(text);
      }
      keys.push(made);
    });
    if (keys.length === 0) throw new NoUsableSecretError();
    return { order: keys };
  };

  return ({ id, type, timestampMs, signature }) => {
    // No secret makes this signature, so the function is not called.
    if (signature !== undefined && !isSignature(signature)) return NO_SECRETS;
    const found = lookUp({ id, type, timestamp: new Date(timestampMs) });
    return found instanceof Promise ? found.then(usableSecrets) : usableSecrets(found);
  };
}

/** The secret function returned nothing that can be a secret. */
export class NoUsableSecretError extends Error {
  override readonly name = "NoUsableSecretError";
  /** Stable, so that code can branch on it. */
  readonly code = "no_usable_secret";

  constructor() {
    super("the secret function returned no usable secret: a non-empty string, or a list with one");
  }
}
