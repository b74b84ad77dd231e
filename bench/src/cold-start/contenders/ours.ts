import { createWebhookReceiver } from "identity-gateway-webhooks";
import type { Answer } from "../delivery.js";

/** Ours, by `import`. */
export const answer: Answer = async ({ secret, headers, body }) => {
  const receiver = createWebhookReceiver({ secret, handlers: { new_alarm: () => undefined } });
  return (await receiver.receive({ headers, body: Buffer.from(body) })).outcome === "handled";
};
