import type { MacBackend } from "./backend.js";

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** The secret's bytes, and the key made of them when it is first used. */
interface WebKey {
  readonly secret: Uint8Array<ArrayBuffer>;
  imported: Promise<CryptoKey> | undefined;
}

const HMAC_SHA256 = { name: "HMAC", hash: "SHA-256" };
const encoder = new TextEncoder();

/** HMAC-SHA256 by WebCrypto, for runtimes without `node:crypto`. */
export const backend: MacBackend<WebKey> = {
  importKey(secret) {
    // The key itself waits for the first request: receivers are made at the top of a module, where
    // workers allow no asynchronous work.
    return { secret: encoder.encode(secret), imported: undefined };
  },
  async sign(key, prefix, body) {
    const mac = await crypto.subtle.sign("HMAC", await keyOf(key), join(prefix, body));
    return Array.from(new Uint8Array(mac), (byte) => byte.toString(16).padStart(2, "0")).join("");
  },
  async verify(key, prefix, body, mac) {
    // `verify` compares in constant time; a comparison of our own digests would have to.
    return crypto.subtle.verify("HMAC", await keyOf(key), mac, join(prefix, body));
  },
};

function keyOf(key: WebKey): Promise<CryptoKey> {
  key.imported ??= crypto.subtle
    .importKey("raw", key.secret, HMAC_SHA256, false, ["sign", "verify"])
    .catch((error: unknown) => {
      // Kept, one passing failure would refuse every delivery from then on.
      key.imported = undefined;
      throw error;
    });
  return key.imported;
}

function join(prefix: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = encoder.encode(prefix);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}
