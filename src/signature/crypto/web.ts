import { isSignature } from "../../delivery/headers.js";
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
    if (!isSignature(signature)) return false;
    const digits = signature.slice(3).match(/../g) ?? [];
    const mac = Uint8Array.from(digits, (pair) => Number.parseInt(pair, 16));
    // `verify` compares in constant time; our own comparison of digests would have to do the same.
    return crypto.subtle.verify("HMAC", await keyOf(key), mac, join(head, body));
  },
  sha256: async (text) => hexOf(await crypto.subtle.digest("SHA-256", encoder.encode(text))),
  randomUuid: () => crypto.randomUUID(),
};

function hexOf(digest: ArrayBuffer): string {
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
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
