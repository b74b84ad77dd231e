import { lowerCaseHeaders, readDeliveryHeaders } from "./header-values.js";
import type { DeliveryHeaders, WebhookType } from "./headers.js";
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

/**
 * A record of the gateway's lists: an alarm, or an Online Data event.
 *
 * @experimental
 */
export interface RecoverableRecord {
  /** The type of webhook that carries such records. */
  readonly type: WebhookType;
  /** The record, as the list has it. */
  readonly record: unknown;
  /** As in `WebhookRequest`. */
  readonly waitUntil?: WebhookRequest["waitUntil"];
}

/** What is handled without a signature: it came from the partner's own call of the gateway. */
export interface Recovered {
  readonly request: WebhookRequest;
  /** Undefined for one that is malformed. */
  readonly headers: DeliveryHeaders | undefined;
}

const MALFORMED: Recovered = { request: { headers: {}, body: "" }, headers: undefined };

/** A delivery that is recovered. Never throws. */
export function recoveredDelivery(delivery: RecoverableDelivery, now: () => number): Recovered {
  try {
    const { id, type, body, waitUntil } = delivery;
    const headers = lowerCaseHeaders({ id, type, timestamp: timestampOf(now) });
    return { request: { headers, body, waitUntil }, headers: readDeliveryHeaders(headers) };
  } catch {
    return MALFORMED;
  }
}

/** A record that is recovered as the delivery `id`. Never throws. */
export function recoveredRecord(
  given: RecoverableRecord,
  id: string,
  now: () => number,
): Recovered {
  try {
    const { type, record, waitUntil } = given;
    const timestamp = timestampOf(now);
    const body = JSON.stringify({ [type === "new_alarm" ? "alarm" : "event"]: record });
    const headers = { id, type, timestamp, timestampMs: Number(timestamp) * 1_000 };
    return {
      request: { headers: {}, body, waitUntil },
      headers: { ...headers, signature: undefined },
    };
  } catch {
    return MALFORMED;
  }
}

const LISTED_ID = /^list#[0-9a-f]{64}$/;

/** The id of a record of the gateway's lists, by its digest. No delivery has one: an X-Webhook-Id has no `#`. */
export function listedId(digest: string): string {
  return `list#${digest}`;
}

/** Whether a value is the id of a record of the gateway's lists. */
export function isListedId(value: unknown): value is string {
  return typeof value === "string" && LISTED_ID.test(value);
}

/** A clock that fails is reported by the receiver, which reads it too. */
function timestampOf(now: () => number): string {
  try {
    return String(Math.floor(now() / 1000));
  } catch {
    return "0";
  }
}
