import { createHmac, timingSafeEqual } from "node:crypto";

/** Headers as Node's server gives them. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

const TOLERANCE_SECONDS = 300;

/** The signature check that a partner writes from the gateway's document, rule 7. */
export function verifyByHand(secret: string, headers: Headers, body: Buffer): boolean {
  const id = headers["x-webhook-id"];
  const timestamp = headers["x-webhook-timestamp"];
  const signature = headers["x-webhook-signature"];
  if (typeof id !== "string" || typeof timestamp !== "string" || typeof signature !== "string") {
    return false;
  }
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const expected = createHmac("sha256", secret)
    .update(`v1:${timestamp}:${id}:`)
    .update(body)
    .digest();
  const given = Buffer.from(signature.slice("v1=".length), "hex");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Verify and parse: the minimal receiver. Undefined if the signature is bad. */
export function receiveByHand(secret: string, headers: Headers, body: Buffer): unknown {
  if (!verifyByHand(secret, headers, body)) return undefined;
  return JSON.parse(body.toString("utf8"));
}
