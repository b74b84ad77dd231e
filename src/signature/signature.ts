import { backend } from "#crypto";
import type { SignedHead } from "./crypto/signed-head.js";
import type { MaybeLater } from "../common/promises.js";

/** A secret as the MAC backend wants it, and its place in the configuration. */
export interface SecretKey {
  readonly key: ReturnType<typeof backend.importKey>;
  /** Place in the list of secrets, as reports name it. */
  readonly index: number;
}

/** Secrets of which one must match. */
export interface Secrets {
  /** The one that matched last comes first. A new list at each change: a request may be in the old one. */
  order: readonly SecretKey[];
}

/** Makes the key of one secret; done once, not per request. */
export function createSecretKey(secret: string, index: number): SecretKey {
  return { key: backend.importKey(secret), index };
}

/** The value of X-Webhook-Signature for these headers and these bytes. */
export function sign(secret: SecretKey, headers: SignedHead, body: Uint8Array): MaybeLater<string> {
  const hex = backend.sign(secret.key, headers, body);
  return typeof hex === "string" ? headerValue(hex) : hex.then(headerValue);
}

function headerValue(hex: string): string {
  return `v1=${hex}`;
}

/**
 * The index of the secret that gives `signature` over these headers and bytes, or undefined. A
 * mismatch has tried every secret. The one that matched last is tried first, so that further secrets
 * cost nothing but a forger's time: each takes 1.4 µs for 1 KB.
 */
export function matchSecret(
  secrets: Secrets,
  headers: SignedHead,
  signature: string,
  body: Uint8Array,
): MaybeLater<number | undefined> {
  return tryFrom(0, { secrets, order: secrets.order, headers, signature, body });
}

interface Attempt {
  readonly secrets: Secrets;
  readonly order: readonly SecretKey[];
  readonly headers: SignedHead;
  readonly signature: string;
  readonly body: Uint8Array;
}

function tryFrom(start: number, attempt: Attempt): MaybeLater<number | undefined> {
  const { order, headers, signature, body } = attempt;
  for (let at = start; ; at++) {
    const secret = order[at];
    if (secret === undefined) return undefined;
    const matches = backend.verify(secret.key, headers, body, signature);
    if (typeof matches === "object") {
      return matches.then((matched) =>
        matched ? tryFirst(secret, attempt) : tryFrom(at + 1, attempt),
      );
    }
    if (matches) return tryFirst(secret, attempt);
  }
}

/** Puts the secret that matched in front, and gives its index. */
function tryFirst(secret: SecretKey, { secrets, order }: Attempt): number {
  if (order[0] !== secret) secrets.order = [secret, ...order.filter((other) => other !== secret)];
  return secret.index;
}
