// The receiver of an app that is there. `npx identity-gateway-webhooks init` writes it for your framework.
import { createWebhookReceiver, memoryStore, type DeliveryStore } from "identity-gateway-webhooks";
import { expressHandler } from "identity-gateway-webhooks/express";

/** The receiver. Its test gives it a secret and a store. */
export function gatewayReceiver({
  secret,
  store = memoryStore(),
}: { secret?: string; store?: DeliveryStore } = {}) {
  return createWebhookReceiver({
    // Read at each delivery, so that a build and the app's other tests run without it. A delivery that comes without
    // it is answered 503, and the gateway sends it again.
    secret: () => {
      const found = secret ?? process.env["GATEWAY_WEBHOOK_SECRET"];
      if (!found) throw new Error("GATEWAY_WEBHOOK_SECRET is not set");
      return found;
    },
    store,
    handlers: {
      new_alarm: (alarm, { id }) => {
        console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
      },
      delete_my_data_event: (event, { id }) => {
        console.log(`${id}: ${event.type}`);
      },
    },
  });
}

/**
 * For the app: above its body parsers, since the signature covers the raw bytes. To drain the receiver when the app shuts
 * down, or to ask for its `health()`, make it there and pass it: `gateway(receiver)`.
 */
export function gateway(receiver = gatewayReceiver()) {
  return expressHandler(receiver);
}
