import type { WebhookResponse } from "../answer/answer.js";
import { ConfigurationError } from "../common/errors.js";
import type { RecoverableDelivery } from "../delivery/recovered-delivery.js";
import { decode } from "../records/decode.js";
import {
  internalsOf,
  type ReceiverInternals,
  type WebhookReceiver,
} from "../options/webhook-receiver.js";

/**
 * Handles a delivery that was lost, from the gateway's history of attempts: decodes it, claims its id, runs its handler.
 * Its signature and its age are not checked, so call it only with what your own authenticated call of the gateway
 * returned. An id that was handled before is `duplicate`. Bounded as `receive` is. Never rejects.
 *
 * @throws ConfigurationError if `receiver` was not made by `createWebhookReceiver`, and does not pass on the member
 * `internal` of one that was.
 * @experimental
 */
export function recoverDelivery(
  receiver: WebhookReceiver,
  delivery: RecoverableDelivery,
): Promise<WebhookResponse> {
  return ownInternalsOf("recoverDelivery", receiver).recover(delivery);
}

/** The internals of a receiver. Throws `ConfigurationError` for an object that a user wrote. */
export function ownInternalsOf(caller: string, receiver: WebhookReceiver): ReceiverInternals {
  const internal = internalsOf(receiver);
  if (internal !== undefined) return internal;
  throw new ConfigurationError(
    "invalid_receiver",
    `${caller} needs a receiver made by createWebhookReceiver, or a wrapper that passes on its member internal`,
  );
}

/** Whether the receiver has no handler for a delivery. */
export function isUnhandled(
  internals: ReceiverInternals | undefined,
  type: string,
  body: string,
): boolean {
  const decoded = decode(new TextEncoder().encode(body), type);
  if (internals === undefined || decoded.kind === "type_mismatch") return false;
  return internals.routes.find(decoded, type).kind === "unhandled";
}
