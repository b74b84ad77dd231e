import type { Outcome } from "../../answer/outcome.js";
import { createWebhookReceiver } from "../../receiver.js";
import type { WebhookRequest } from "../../delivery/request.js";
import type { DeliveryStore } from "../../stores/delivery-store.js";

/** What a receiver answers. */
export interface PlainAnswer {
  readonly outcome: Outcome;
  readonly status: number;
}

/** Every delivery is the first. */
const FORGETFUL: DeliveryStore = {
  claim: () => ({ state: "claimed", takeover: false }),
  renew: () => true,
  complete: () => undefined,
  release: () => undefined,
};

/**
 * Asks the receiver that a fixture's `expect` speaks of (fixtures/README.md): the secret, default settings
 * and handlers for both types that do nothing. One request at a time, as its clock is set for each.
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
