import { backend } from "#crypto";
import type { SignedHeaders } from "./headers.js";
import { isPromise, type MaybePromise } from "./maybe-promise.js";

/** A secret as the MAC backend wants it, and its place in the configuration. */
export interface SecretKey {
  readonly key: ReturnType<typeof backend.importKey>;
  /** Place in the list of secrets, as reports name it. */
  readonly index: number;
}

/** Makes the key of one secret; done once, not per request. */
export function createSecretKey(secret: string, index: number): SecretKey {
  return { key: backend.importKey(secret), index };
}

/**
 * The signed string up to the body: `v1:` timestamp `:` id `:` (GATEWAY.md, "Authentication", rule 7).
 * Both texts must have passed the header grammar, which has no colon.
 */
function signedPrefix(timestamp: string, id: string): string {
  return `v1:${timestamp}:${id}:`;
}

/** The value of X-Webhook-Signature for these headers and these bytes. */
export function sign(
  secret: SecretKey,
  headers: { id: string; timestamp: string },
  body: Uint8Array,
): MaybePromise<string> {
  const hex = backend.sign(secret.key, signedPrefix(headers.timestamp, headers.id), body);
  return isPromise(hex) ? hex.then(headerValue) : headerValue(hex);
}

function headerValue(hex: string): string {
  return `v1=${hex}`;
}

/**
 * The index of the secret that gives `signature`, 64 hexadecimal digits, over these headers and bytes,
 * or undefined. A mismatch has tried every secret.
 */
export function matchSecret(
  secrets: readonly SecretKey[],
  headers: SignedHeaders,
  signature: string,
  body: Uint8Array,
): MaybePromise<number | undefined> {
  const prefix = signedPrefix(headers.timestamp, headers.id);
  const matchFrom = (start: number): MaybePromise<number | undefined> => {
    for (let at = start; ; at++) {
      const secret = secrets[at];
      if (secret === undefined) return undefined;
      const { key, index } = secret;
      const matches = backend.verify(key, prefix, body, signature);
      if (isPromise(matches)) {
        return matches.then((matched) => (matched ? index : matchFrom(at + 1)));
      }
      if (matches) return index;
    }
  };
  return matchFrom(0);
}
