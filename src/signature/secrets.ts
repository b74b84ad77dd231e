import type { MatchedSecret } from "../answer/trace.js";
import { ConfigurationError } from "../common/errors.js";
import type { WebhookType } from "../delivery/headers.js";
import type { MaybePromise, ValueOrPromise } from "../common/promises.js";
import { backend } from "#crypto";
import type { SignedHead } from "./crypto/signed-head.js";

/** One secret, or several during a rotation. One of them must match. */
export type SecretList = string | readonly string[];

/** What a secret function receives. */
export interface SecretQuery {
  /** A type that the gateway documents, never another text that a stranger may send as X-Webhook-Type. */
  readonly type: WebhookType;
}

/**
 * Finds the secrets of a webhook type. For a delivery whose X-Webhook-Type is none of the documented ones it is
 * called for each of them, and any of these secrets may sign it. If it returns undefined, null or an empty list,
 * the type has no secret: 409 `signature_mismatch`. Return undefined for a type that you have not registered. If it
 * throws, returns nothing that can be a secret, or takes longer than `dependencyTimeoutMs`: 503
 * `secret_unavailable`; for a delivery of another type only if it fails for both, or if `unverifiable` makes
 * `signature_mismatch` final. An entry of a list that cannot be a secret is left out, with one warning unless it is
 * undefined or null.
 *
 * Deliveries of one type that come while a call runs share its result, so at most one call runs for each type, also
 * if it takes longer than `dependencyTimeoutMs`. A call that has not ended a minute after that is given up. It must not read the state of a request (`AsyncLocalStorage`). On Cloudflare Workers each delivery has its own call,
 * at most 100 at once.
 */
export type SecretFunction = (query: SecretQuery) => MaybePromise<SecretList | null | undefined>;

/**
 * The four forms of `secret`: one, a list, a list for each webhook type (one URL may be registered
 * once per type, each with its own secret), or a function.
 */
export type SecretOption = SecretList | SecretPerType | SecretFunction;

/**
 * The secrets of each type. Both are required; the type admits undefined so that an environment variable needs no cast,
 * and a missing one is refused by its name when the receiver is made.
 */
export type SecretPerType = Readonly<Partial<Record<WebhookType, SecretList | undefined>>>;

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
  const fault = secretFault(secret);
  if (fault !== undefined) throw new ConfigurationError("unusable_secret", `${name} ${fault}`);
  return createSecretKey(secret, index);
}

/**
 * Why a text cannot be a secret. Each case is an accident seen in deployments, and none is a secret
 * that anyone chose.
 */
export function secretFault(secret: unknown): string | undefined {
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

/** A secret's key for the MAC backend, and its place in the configuration. */
export interface SecretKey extends MatchedSecret {
  readonly key: ReturnType<typeof backend.importKey>;
}

/** Secrets to try. One of them must match. */
export interface Secrets {
  /**
   * The secret that matched last comes first. Each change makes a new list, because a request may
   * still read the old one.
   */
  order: readonly SecretKey[];
}

/**
 * One captured delivery is enough to guess a shorter secret, without any request to the receiver. It has no fingerprint,
 * with which a guess could be tested too.
 */
export const MIN_SECRET_LENGTH = 16;

/** No delivery has this timestamp, so what is signed here is no signature. */
const FINGERPRINT_HEAD: SignedHead = { timestamp: "fingerprint", id: "secret" };
const NO_BODY = new Uint8Array();

/** Makes the key of one secret. Called once, not for every request. */
export function createSecretKey(secret: string, index: number): SecretKey {
  const key = backend.importKey(secret);
  let known = secret.length < MIN_SECRET_LENGTH ? "" : undefined;
  const keep = (digits: string): string => (known = digits.slice(0, 4));
  // Made when it is asked for: Workers allow no asynchronous work while a module loads.
  const fingerprint = (): ValueOrPromise<string> => {
    if (known !== undefined) return known;
    const mac = backend.sign(key, FINGERPRINT_HEAD, NO_BODY);
    return typeof mac === "string" ? keep(mac) : mac.then(keep, () => "");
  };
  return { key, index, fingerprint };
}

/** The value of X-Webhook-Signature for these headers and these bytes. */
export async function sign(
  secret: SecretKey,
  headers: SignedHead,
  body: Uint8Array,
): Promise<string> {
  return `v1=${await backend.sign(secret.key, headers, body)}`;
}

/** Moves the secret that matched to the front, and returns it. */
export function tryFirst(
  secret: SecretKey,
  secrets: Secrets,
  order: readonly SecretKey[],
): SecretKey {
  if (order[0] !== secret) secrets.order = [secret, ...order.filter((other) => other !== secret)];
  return secret;
}
