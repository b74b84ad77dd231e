import type { WebhookResponse } from "../answer/answer.js";
import { ConfigurationError, invalidOption } from "../common/errors.js";
import type { RecoverableDelivery, RecoverableRecord } from "../delivery/recovered-delivery.js";
import { decode } from "../records/decode.js";
import {
  internalsOf,
  type ReceiverInternals,
  type WebhookReceiver,
} from "../options/webhook-receiver.js";
import { isObject } from "../common/option-checks.js";
import { WEBHOOK_TYPES } from "../common/gateway-facts.js";

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
function ownInternalsOf(caller: string, receiver: WebhookReceiver): ReceiverInternals {
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

/**
 * Handles a record of the gateway's lists, `GET /api/v1/alarms` and `GET /api/v1/delete-my-data/events`: the only way to
 * a record whose delivery was given up while the history of its webhook was off (the gateway's document, sections
 * "Endpoints" and "Events"). It goes the way of a delivery from decoding on. No signature is asked of it, so call it only with what your
 * own authenticated call of the gateway returned.
 *
 * The receiver needs `once: "record"`: then a late attempt of the delivery, under its own X-Webhook-Id, is `duplicate`.
 * The store knows a record for `retentionMs` only: give it no older ones, or they are handled again. `context.id` is
 * `list#` and a digest. Bounded as `receive` is. Never rejects.
 *
 * @throws ConfigurationError (`invalid_receiver`) if `receiver` was not made by `createWebhookReceiver`; if its `once` is
 * `"delivery"`; and if it has no store of its own, so that it cannot know what another process has handled. With `invalid_option` if `given` is no object, or `given.type` no
 * documented type.
 * @experimental
 */
export function recoverRecord(
  receiver: WebhookReceiver,
  given: RecoverableRecord,
): Promise<WebhookResponse> {
  const internal = ownInternalsOf("recoverRecord", receiver);
  if (internal.recoverRecord === undefined) {
    throw refused(
      'a receiver with once: "record": by their ids, a record of a list and a late attempt of its delivery are two, and both would be handled',
    );
  }
  if (internal.hasDefaultStore) {
    throw refused(
      "a receiver with the store of your deliveries: the memory of this process does not know what others have handled. Pass store: memoryStore() if this process alone receives them",
    );
  }
  if (!isObject(given)) throw invalidOption("recoverRecord takes { type, record }");
  if (!(WEBHOOK_TYPES as readonly unknown[]).includes(given.type)) {
    throw invalidOption(`type must be one of ${WEBHOOK_TYPES.join(", ")}`);
  }
  return internal.recoverRecord(given);
}

function refused(need: string): ConfigurationError {
  return new ConfigurationError("invalid_receiver", `recoverRecord needs ${need}`);
}
