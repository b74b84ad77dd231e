import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from "node:crypto";
import type { MacBackend } from "./backend.js";

/** HMAC-SHA256 by `node:crypto`: synchronous, and several times faster than WebCrypto. */
export const backend: MacBackend<KeyObject> = {
  importKey(secret) {
    return createSecretKey(Buffer.from(secret, "utf8"));
  },
  sign(key, prefix, body) {
    return digest(key, prefix, body).toString("hex");
  },
  verify(key, prefix, body, hex) {
    return timingSafeEqual(digest(key, prefix, body), Buffer.from(hex, "hex"));
  },
};

function digest(key: KeyObject, prefix: string, body: Uint8Array): Buffer {
  return createHmac("sha256", key).update(prefix, "utf8").update(body).digest();
}
