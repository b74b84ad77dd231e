import type { ValueOrPromise } from "../../common/promises.js";
import type { SignedHead } from "./signed-head.js";

/**
 * One implementation of HMAC-SHA256 (RFC 2104). `#crypto` in package.json picks it: `node:crypto`
 * where it exists, WebCrypto elsewhere. Both sign the UTF-8 bytes of `headText` followed by `body`.
 */
export interface MacBackend<Key> {
  /** Makes the key from a secret's UTF-8 bytes, which are never empty. Called once per secret. */
  importKey(secret: string): Key;
  /** The MAC as 64 lower-case hexadecimal digits. */
  sign(key: Key, head: SignedHead, body: Uint8Array): ValueOrPromise<string>;
  /**
   * Whether `signature`, any text, is `v1=` and the MAC in hexadecimal digits of any letter case.
   * Compares in constant time.
   */
  verify(key: Key, head: SignedHead, body: Uint8Array, signature: string): ValueOrPromise<boolean>;
}
