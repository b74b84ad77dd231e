import { Buffer } from "node:buffer";

/** `crypto.hash` of `node:crypto`, Node 20.12 and later. */
export type OneShotHash = (
  algorithm: "sha256",
  data: Uint8Array,
  encoding: "binary" | "hex",
) => string;

/**
 * A `Buffer` with the writer that `write` calls; choosing the writer takes `write` as long as
 * writing. Node does not document it, and some imitations have had wrong ones: try it before use.
 */
type DirectBuffer = Buffer & {
  latin1Write(text: string, start: number, length: number): number;
};

/** The two padded keys of RFC 2104. The outer one has room for the inner digest after it. */
export interface PaddedKey {
  readonly inner: Uint8Array;
  readonly outer: DirectBuffer;
}

/** HMAC-SHA256 (RFC 2104) as two calls of a one-shot hash, for messages of up to 32 KiB. */
export interface OneShotHmac<Head> {
  /** Pads a secret. Called once per secret. */
  readonly padKey: (secret: Uint8Array) => PaddedKey;
  /**
   * The MAC of head and body as 64 lower-case hexadecimal digits. Undefined for a message that may
   * be longer than 32 KiB, a head that cannot be written, or a body that is not plain bytes.
   */
  readonly mac: (key: PaddedKey, head: Head, body: Uint8Array) => string | undefined;
}

/** Writes the bytes in front of the body. */
export interface HeadWriter<Head> {
  /** Maximum number of bytes that it writes. */
  readonly maxBytes: number;
  /** Writes from `at` on and returns the position after the last byte. Undefined if it cannot. */
  readonly write: (head: Head, bytes: Uint8Array, at: number) => number | undefined;
}

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/**
 * Above this size, copying the message into one piece costs what the one-shot hash saves: less than
 * 3 % is left.
 */
const MAX_MESSAGE_BYTES = 32_768;
/** A power of two. Limits the views to 100 kB, whatever lengths a sender chooses. */
const VIEWS = 1_024;

/**
 * False for a subclass, a proxy, another array-like or an altered array: its elements may differ
 * from its bytes.
 */
function isPlainBytes(body: Uint8Array): boolean {
  const prototype: unknown = Object.getPrototypeOf(body);
  const isPlain = prototype === Buffer.prototype || prototype === Uint8Array.prototype;
  return isPlain && ArrayBuffer.isView(body) && !Object.hasOwn(body, "length");
}

/**
 * Makes an HMAC from `hash`. For 1 KB and less it takes half the time of `createHmac`, which
 * creates a native object for each MAC: 1.4 µs instead of 2.7.
 */
export function createOneShotHmac<Head>(
  hash: OneShotHash,
  { maxBytes: maxHeadBytes, write }: HeadWriter<Head>,
): OneShotHmac<Head> {
  // One scratch buffer for all messages. Everything here is synchronous, so two messages never
  // share it.
  const scratch = Buffer.alloc(BLOCK_BYTES + MAX_MESSAGE_BYTES);
  // A new view of the scratch buffer takes 0.1 µs, and deliveries repeat their lengths.
  const views: (Buffer | undefined)[] = Array.from({ length: VIEWS }, () => undefined);
  let resident: PaddedKey | undefined;

  const viewOf = (bytes: number): Buffer => {
    const slot = bytes & (VIEWS - 1);
    const known = views[slot];
    if (known?.length === bytes) return known;
    return (views[slot] = scratch.subarray(0, bytes));
  };

  return {
    padKey(secret) {
      // RFC 2104, section 2: a key longer than a block is replaced by its hash.
      const key =
        secret.length > BLOCK_BYTES
          ? Buffer.from(hash("sha256", secret, "binary"), "latin1")
          : secret;
      const inner = new Uint8Array(BLOCK_BYTES).fill(0x36);
      const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, 0x5c) as DirectBuffer;
      key.forEach((byte, at) => {
        inner[at] = byte ^ 0x36;
        outer[at] = byte ^ 0x5c;
      });
      return { inner, outer };
    },

    mac(key, head, body) {
      if (!isPlainBytes(body)) return undefined;
      const { length } = body;
      if (maxHeadBytes + length > MAX_MESSAGE_BYTES) return undefined;
      if (resident !== key) {
        scratch.set(key.inner);
        resident = key;
      }
      const start = write(head, scratch, BLOCK_BYTES);
      if (start === undefined) return undefined;
      // The memory of an empty body may have been transferred, and copying from it would throw.
      if (length > 0) scratch.set(body, start);
      // A digest is text of single bytes (latin1, which `hash` calls binary) or of digits: a Buffer
      // takes 0.3 µs more.
      const inner = hash("sha256", viewOf(start + length), "binary");
      key.outer.latin1Write(inner, BLOCK_BYTES, DIGEST_BYTES);
      return hash("sha256", key.outer, "hex");
    },
  };
}
