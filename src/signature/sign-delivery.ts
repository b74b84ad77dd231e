import { GatewayWebhookError } from "../common/errors.js";
import { HEADERS } from "../delivery/headers.js";
import { bytesOfBody } from "../delivery/request.js";
import { keyOf, sign } from "./secrets.js";

/** The delivery to sign. */
export interface SignDeliveryOptions {
  /** The webhook's secret; its UTF-8 bytes are the key. */
  secret: string;
  /** X-Webhook-Id: 1 to 128 characters of `[0-9A-Za-z._-]`. */
  id: string;
  /** X-Webhook-Timestamp: whole Unix seconds, from 0 to 999 999 999 999. */
  timestamp: number;
  /** The exact body; a string is taken as UTF-8. */
  body: Uint8Array | string;
}

/**
 * The value of X-Webhook-Signature, `v1=` and 64 lower-case hexadecimal digits, as the gateway makes it. For tests
 * and tools that take the gateway's place.
 *
 * Rejects with a `ConfigurationError` for a value that cannot be a secret, and with the code
 * `invalid_delivery_id` or `invalid_timestamp` for an id or a timestamp that the grammar does not allow: no receiver would accept such a
 * signature.
 */
export async function signDelivery(options: SignDeliveryOptions): Promise<string> {
  const { secret, id, timestamp, body } = options;
  const key = keyOf(secret);
  const text = String(timestamp);
  if (!HEADERS.id.fits(id)) {
    throw new GatewayWebhookError("invalid_delivery_id", `id must be ${HEADERS.id.grammar}`);
  }
  if (!HEADERS.timestamp.fits(text)) {
    throw new GatewayWebhookError(
      "invalid_timestamp",
      "timestamp must be whole Unix seconds, from 0 to 999999999999",
    );
  }
  return sign(key, { id, timestamp: text }, bytesOfBody(body));
}
