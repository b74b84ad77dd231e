import { macHex, newId, nowSeconds, type Body } from "./deliveries.js";

/** The headers of Standard Webhooks for one delivery, with a new id. svix uses other names. */
export function standardHeaders(prefix: "webhook" | "svix", body: Body): Record<string, string> {
  const id = newId();
  const timestamp = nowSeconds();
  const mac = Buffer.from(macHex(`${id}.${timestamp}.`, body.bytes), "hex").toString("base64");
  return {
    [`${prefix}-id`]: id,
    [`${prefix}-timestamp`]: timestamp,
    [`${prefix}-signature`]: `v1,${mac}`,
  };
}

/** The `Stripe-Signature` header of one delivery. */
export function stripeHeader(body: Body): string {
  const timestamp = nowSeconds();
  return `t=${timestamp},v1=${macHex(`${timestamp}.`, body.bytes)}`;
}

/** The headers of GitHub for one delivery, with a new id. */
export function githubHeaders(body: Body): Record<string, string> {
  return {
    "x-github-event": "ping",
    "x-github-delivery": newId(),
    "x-hub-signature-256": githubSignature(body),
  };
}

/** The `X-Hub-Signature-256` header: GitHub signs only the body. */
export function githubSignature(body: Body): string {
  return `sha256=${macHex(body.bytes)}`;
}
