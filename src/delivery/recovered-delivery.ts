import { lowerCaseHeaders } from "./header-values.js";
import type { WebhookRequest } from "./request.js";

/**
 * A delivery that was lost, as the gateway's history of attempts has it.
 *
 * @experimental
 */
export interface RecoverableDelivery {
  /** X-Webhook-Id. */
  readonly id: string;
  /** The type of the webhook. */
  readonly type: string;
  /** The body; a string is taken as UTF-8. */
  readonly body: Uint8Array | string;
  /** As in `WebhookRequest`. */
  readonly waitUntil?: WebhookRequest["waitUntil"];
}

/** The request of a delivery that is recovered. Never throws. */
export function recoveredRequest(delivery: RecoverableDelivery, now: () => number): WebhookRequest {
  try {
    const { id, type, body, waitUntil } = delivery;
    const headers = lowerCaseHeaders({ id, type, timestamp: timestampOf(now) });
    return { headers, body, waitUntil };
  } catch {
    // Without headers it is `malformed`.
    return { headers: {}, body: "" };
  }
}

/** A clock that fails is reported by the receiver, which reads it too. */
function timestampOf(now: () => number): string {
  try {
    return String(Math.floor(now() / 1000));
  } catch {
    return "0";
  }
}
