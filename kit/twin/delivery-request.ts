import { sign } from "../../src/signature/signature.js";
import { uuidOf, type Random } from "../random.js";
import type { HeaderLine, WireRequest } from "../sending/wire.js";
import type { EventBody } from "./twin-event.js";
import type { ActiveWebhook } from "./twin-webhook.js";

/** One delivery to one webhook, before it is sent. */
export interface UnsentDelivery extends EventBody {
  /** X-Webhook-Id. */
  readonly id: string;
  readonly webhook: ActiveWebhook;
}

/** Builds the request of a delivery at `now` (GATEWAY.md, "Events" and "Authentication", rule 7). */
export async function buildRequest(
  { id, type, body, webhook }: UnsentDelivery,
  now: number,
): Promise<WireRequest> {
  const timestamp = String(Math.floor(now / 1000));
  const headers: HeaderLine[] = [
    ["Content-Type", "application/json"],
    ["X-Webhook-Type", type],
    ["X-Webhook-Id", id],
    ["X-Webhook-Timestamp", timestamp],
  ];
  if (webhook.secret !== undefined) {
    headers.push(["X-Webhook-Signature", await sign(webhook.secret, { id, timestamp }, body)]);
  }
  return { method: "POST", headers, body };
}

/** A UUID of version 4, as X-Webhook-Id is (GATEWAY.md, "Events"). The same seed gives the same UUID. */
export function drawDeliveryId(random: Random): string {
  const word = (): string => random.below(4_294_967_296).toString(16).padStart(8, "0");
  return uuidOf(Buffer.from(word() + word() + word() + word(), "hex"));
}
