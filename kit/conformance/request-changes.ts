import { createHmac } from "node:crypto";
import type { WireRequest } from "../sending/wire.js";

/** The webhook headers (the gateway's document, section "Events"). */
export const ID = "X-Webhook-Id";
export const TIMESTAMP = "X-Webhook-Timestamp";
export const TYPE = "X-Webhook-Type";
export const SIGNATURE = "X-Webhook-Signature";

/** `request` with one header replaced by one line for each value. Without a value it is removed. */
export function withHeader<T extends WireRequest>(
  request: T,
  name: string,
  ...values: readonly string[]
): T {
  const lower = name.toLowerCase();
  const others = request.headers.filter(([other]) => other.toLowerCase() !== lower);
  return { ...request, headers: [...others, ...values.map((value) => [name, value] as const)] };
}

/** The value of a header. Empty when it is missing. */
export function headerOf({ headers }: WireRequest, name: string): string {
  const lower = name.toLowerCase();
  return headers.find(([other]) => other.toLowerCase() === lower)?.[1] ?? "";
}

/** `request` with another body and its old signature. */
export function withBody<T extends WireRequest>(request: T, body: string | Uint8Array): T {
  return { ...request, body: typeof body === "string" ? new TextEncoder().encode(body) : body };
}

/** The body as text. */
export function textOf({ body }: WireRequest): string {
  return new TextDecoder().decode(body);
}

/** HMAC-SHA256 over `prefix` and `body`. Unlike `signDelivery` it takes any secret and any header text. */
export function macOf(
  secret: string,
  prefix: string,
  body: Uint8Array = new Uint8Array(0),
): Buffer {
  return createHmac("sha256", secret).update(prefix).update(body).digest();
}

/** The signature that the gateway would send with this request. */
export function rightMac(request: WireRequest, secret: string): Buffer {
  const prefix = `v1:${headerOf(request, TIMESTAMP)}:${headerOf(request, ID)}:`;
  return macOf(secret, prefix, request.body);
}

/** `request` with the signature that a sender with this secret would make. */
export function signedWith<T extends WireRequest>(request: T, secret: string): T {
  return withHeader(request, SIGNATURE, `v1=${rightMac(request, secret).toString("hex")}`);
}
