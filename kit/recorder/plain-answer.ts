import type { WebhookOutcome } from "../../src/answer/outcome.js";
import { createWebhookReceiver } from "../../src/receiver.js";
import type { WebhookRequest } from "../../src/delivery/request.js";
import type { DeliveryStore } from "../../src/stores/delivery-store.js";

/** The answer of a receiver. */
export interface PlainAnswer {
  readonly outcome: WebhookOutcome;
  readonly status: number;
}

/** A store in which every delivery is new. */
const FORGETFUL: DeliveryStore = {
  claim: () => ({ state: "claimed", takeover: false }),
  renew: () => true,
  complete: () => undefined,
  release: () => undefined,
};

/**
 * Sends a delivery to the receiver that `expect` of a fixture refers to (fixtures/README.md): the secret, default
 * options and empty handlers for both types. One request at a time, since each sets the clock.
 */
export function createPlainAnswer(
  secret: string,
): (request: WebhookRequest, receivedAt: Date) => Promise<PlainAnswer> {
  let now = 0;
  const receiver = createWebhookReceiver({
    secret,
    handlers: { new_alarm: () => undefined, delete_my_data_event: () => undefined },
    store: FORGETFUL,
    logger: false,
    now: () => now,
  });
  return async (request, receivedAt) => {
    now = receivedAt.getTime();
    const { outcome, status } = await receiver.receive(request);
    return { outcome, status };
  };
}
