import { createHmac, timingSafeEqual } from "node:crypto";
import { SECRET, signedHeaders, type Body } from "../deliveries.js";
import type { Case } from "../rounds.js";
import { synchronous } from "./cases.js";

/** The backend behind `#crypto` on Node: a file of the build, not an export of the package. */
interface Backend {
  importKey(secret: string): unknown;
  verify(
    key: unknown,
    head: { readonly timestamp: string; readonly id: string },
    body: Uint8Array,
    signature: string,
  ): boolean;
}

/** The check of a signature. Ours includes reading the hex digits; the hand-written one gets the bytes. */
export async function signatureCases(body: Body, batch: number): Promise<Case[]> {
  const entry = import.meta.resolve("identity-gateway-webhooks");
  const { backend } = (await import(new URL("./crypto/node.js", entry).href)) as {
    readonly backend: Backend;
  };
  const key = backend.importKey(SECRET);

  const sign = () => {
    const headers = signedHeaders(body);
    const timestamp = headers["x-webhook-timestamp"] ?? "";
    const id = headers["x-webhook-id"] ?? "";
    const signature = headers["x-webhook-signature"] ?? "";
    return {
      head: { timestamp, id },
      signature,
      mac: Buffer.from(signature.slice("v1=".length), "hex"),
    };
  };

  return [
    synchronous("ours, signature check", batch, sign, ({ head, signature }) => {
      return backend.verify(key, head, body.bytes, signature);
    }),
    synchronous("createHmac + timingSafeEqual", batch, sign, ({ head, mac }) => {
      const expected = createHmac("sha256", SECRET)
        .update(`v1:${head.timestamp}:${head.id}:`)
        .update(body.bytes)
        .digest();
      return timingSafeEqual(expected, mac);
    }),
  ];
}
