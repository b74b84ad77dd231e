import type { MaybePromise } from "../maybe-promise.js";

/**
 * One implementation of HMAC-SHA256 (RFC 2104). `#crypto` in package.json picks it: `node:crypto`
 * where there is one, WebCrypto elsewhere. Both sign the UTF-8 bytes of `prefix` followed by `body`.
 */
export interface MacBackend<Key> {
  /** Makes the key of a secret's UTF-8 bytes; done once per secret. Never empty. */
  importKey(secret: string): Key;
  /** The MAC as 64 lower-case hexadecimal digits. */
  sign(key: Key, prefix: string, body: Uint8Array): MaybePromise<string>;
  /** Whether `mac`, 32 bytes, is the MAC. Compares in constant time. */
  verify(
    key: Key,
    prefix: string,
    body: Uint8Array,
    mac: Uint8Array<ArrayBuffer>,
  ): MaybePromise<boolean>;
}
