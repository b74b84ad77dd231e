import { sign } from "../../src/signature/signature.js";
import { madeUpDeliveryId, type Random } from "../random.js";
import type { HeaderLine, WireRequest } from "../sending/wire.js";
import type { EventBody } from "./twin-event.js";
import type { ActiveWebhook } from "./twin-webhook.js";

/** One delivery to one webhook, before it is sent. */
export interface UnsentDelivery extends EventBody {
  /** X-Webhook-Id. */
  readonly id: string;
  readonly webhook: ActiveWebhook;
}

/**
 * Builds the request of a delivery at `now` (the gateway's document, section "Events" and "Authentication", rule 7).
 */
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

/** A made-up X-Webhook-Id. The same seed gives the same id. */
export function drawDeliveryId(random: Random): string {
  const word = (): string => random.below(4_294_967_296).toString(16).padStart(8, "0");
  return madeUpDeliveryId(Buffer.from(word() + word() + word() + word(), "hex"));
}
