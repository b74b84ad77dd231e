import { sign } from "../../signature/signature.js";
import type { HeaderLine, WireRequest } from "../sending/wire.js";
import type { EventBody } from "./twin-event.js";
import type { ActiveWebhook } from "./twin-webhook.js";

/** One delivery to one webhook, before it is sent. */
export interface Outgoing extends EventBody {
  readonly id: string;
  readonly webhook: ActiveWebhook;
}

/** The request of a delivery, built at `now` (GATEWAY.md, "Events" and "Authentication", rule 7). */
export async function buildRequest(
  { id, type, body, webhook }: Outgoing,
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
