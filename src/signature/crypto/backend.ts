import type { ValueOrPromise } from "../../common/promises.js";
import type { SignedHead } from "./signed-head.js";

/**
 * What the package needs of cryptography, above all HMAC-SHA256 (RFC 2104). `#crypto` in package.json picks
 * one: `node:crypto` where it exists, WebCrypto elsewhere. Only WebCrypto needs the global `crypto`. Both sign
 * the UTF-8 bytes of `headText` followed by `body`.
 */
export interface CryptoBackend<Key> {
  /** Makes the key from a secret's UTF-8 bytes, which are never empty. Called once per secret. */
  importKey(secret: string): Key;
  /** The MAC as 64 lower-case hexadecimal digits. */
  sign(key: Key, head: SignedHead, body: Uint8Array): ValueOrPromise<string>;
  /**
   * Whether `signature`, any text, is `v1=` and the MAC in hexadecimal digits of any letter case, or a list with one
   * that is. Compares in constant time, and computes the MAC once.
   */
  verify(key: Key, head: SignedHead, body: Uint8Array, signature: string): ValueOrPromise<boolean>;
  /** SHA-256 of the text in UTF-8: 64 lower-case hexadecimal digits. */
  sha256(text: string): ValueOrPromise<string>;
  /** A random UUID, in lower case. */
  randomUuid(): string;
}
