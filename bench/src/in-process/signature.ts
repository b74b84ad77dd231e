import { createHmac, timingSafeEqual } from "node:crypto";
import { SECRET, signedHeaders, type Body } from "../deliveries.js";
import type { Case } from "../rounds.js";
import { synchronous } from "./cases.js";

/** The backend behind `#crypto` on Node. It is no export of the package, but a file of its build. */
interface Backend {
  importKey(secret: string): unknown;
  verify(key: unknown, prefix: string, body: Uint8Array, mac: Uint8Array): boolean;
}

/** The check of a signature that is at hand as bytes: ours, and as it is written by hand. */
export async function signatureCases(body: Body, batch: number): Promise<Case[]> {
  const entry = import.meta.resolve("identity-gateway-webhooks");
  const { backend } = (await import(new URL("./crypto/node.js", entry).href)) as {
    readonly backend: Backend;
  };
  const key = backend.importKey(SECRET);

  const sign = () => {
    const headers = signedHeaders(body);
    return {
      prefix: `v1:${headers["x-webhook-timestamp"] ?? ""}:${headers["x-webhook-id"] ?? ""}:`,
      mac: Buffer.from((headers["x-webhook-signature"] ?? "").slice("v1=".length), "hex"),
    };
  };

  return [
    synchronous("ours, signature check", batch, sign, ({ prefix, mac }) => {
      return backend.verify(key, prefix, body.bytes, mac);
    }),
    synchronous("createHmac + timingSafeEqual", batch, sign, ({ prefix, mac }) => {
      const expected = createHmac("sha256", SECRET).update(prefix).update(body.bytes).digest();
      return timingSafeEqual(expected, mac);
    }),
  ];
}
