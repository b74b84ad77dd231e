import { signaturesOf } from "../../delivery/headers.js";
import type { CryptoBackend } from "./backend.js";
import { headText, type SignedHead } from "./signed-head.js";

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** The secret's bytes, and the key, which is made at its first use. */
interface WebKey {
  readonly secret: Uint8Array<ArrayBuffer>;
  imported: Promise<CryptoKey> | undefined;
}

const HMAC_SHA256 = { name: "HMAC", hash: "SHA-256" };
const encoder = new TextEncoder();
/** Of `v1=`. */
const PREFIX_LENGTH = 3;

/** Cryptography by WebCrypto, for runtimes without `node:crypto`. */
export const backend: CryptoBackend<WebKey> = {
  importKey(secret) {
    // The key is made at the first request: receivers are created at the top of a module, where
    // Workers allow no asynchronous work.
    return { secret: encoder.encode(secret), imported: undefined };
  },
  async sign(key, head, body) {
    const mac = await crypto.subtle.sign("HMAC", await keyOf(key), join(head, body));
    return hexOf(mac);
  },
  async verify(key, head, body, signature) {
    const given = signaturesOf(signature);
    const [only] = given;
    if (only === undefined) return false;
    const [imported, message] = [await keyOf(key), join(head, body)];
    // `verify` compares in constant time.
    if (given.length === 1) {
      const digits = only.slice(PREFIX_LENGTH).match(/../g) ?? [];
      const mac = Uint8Array.from(digits, (pair) => Number.parseInt(pair, 16));
      return crypto.subtle.verify("HMAC", imported, mac, message);
    }
    const expected = hexOf(await crypto.subtle.sign("HMAC", imported, message));
    return given.some((one) => areEqual(one.slice(PREFIX_LENGTH).toLowerCase(), expected));
  },
  sha256: async (text) => hexOf(await crypto.subtle.digest("SHA-256", encoder.encode(text))),
  randomUuid: () => crypto.randomUUID(),
};

function hexOf(digest: ArrayBuffer): string {
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Whether two texts of the same length are equal. It looks at every character, so its time tells nothing of them. */
function areEqual(text: string, expected: string): boolean {
  let difference = 0;
  for (let at = 0; at < expected.length; at++) {
    difference |= text.charCodeAt(at) ^ expected.charCodeAt(at);
  }
  return difference === 0;
}

function keyOf(key: WebKey): Promise<CryptoKey> {
  key.imported ??= crypto.subtle
    .importKey("raw", key.secret, HMAC_SHA256, false, ["sign", "verify"])
    .catch((error: unknown) => {
      // A failure is not kept: otherwise one temporary failure would refuse every later delivery.
      key.imported = undefined;
      throw error;
    });
  return key.imported;
}

function join(head: SignedHead, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const text = encoder.encode(headText(head));
  const bytes = new Uint8Array(text.length + body.length);
  bytes.set(text);
  bytes.set(body, text.length);
  return bytes;
}
