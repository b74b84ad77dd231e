// A partner's receiver in a process of its own, which the demo kills.
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { createWebhookReceiver, type DeliveryContext } from "identity-gateway-webhooks";
import { TEST_SECRET } from "identity-gateway-webhooks/testing";
import { openStore } from "./durable-store.js";
import { serve } from "./endpoint.js";
import type { ReceiverNews, ReceiverOrder } from "./receiver-messages.js";

// End with the demo.
process.once("disconnect", () => process.exit());

const [{ place, effects, leaseMs, port, cutOffId }] = (await once(process, "message")) as [
  ReceiverOrder,
];
const tell = (news: ReceiverNews): void => void process.send?.(news);

const handle = async (_record: unknown, { id }: DeliveryContext): Promise<void> => {
  if (id === cutOffId) {
    tell({ name: "handling" });
    await new Promise(() => undefined);
  }
  appendFileSync(effects, `${id}\n`);
};

const { store } = await openStore(place);
const receiver = createWebhookReceiver({
  secret: TEST_SECRET,
  handlers: { new_alarm: handle },
  store,
  leaseMs,
  // A hundred alarms at once, on whatever machine the demo runs.
  dependencyTimeoutMs: 10_000,
  logger: false,
});
const endpoint = await serve(receiver, port);
tell({ name: "listening", port: endpoint.port, url: endpoint.url });
