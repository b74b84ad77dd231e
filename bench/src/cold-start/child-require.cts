import type * as library from "identity-gateway-webhooks" with { "resolution-mode": "import" };
import type { ColdDelivery, ColdStart } from "./delivery.js" with { "resolution-mode": "import" };

// Nothing is loaded before this line, so that the package's own loading is measured completely.
const bootMs = performance.now();

async function answerFirst(): Promise<void> {
  if (process.argv[2] === "ours-with-zod") module.require("identity-gateway-webhooks/schemas");
  const { createWebhookReceiver } = module.require("identity-gateway-webhooks") as typeof library;
  const { secret, headers, body } = JSON.parse(process.argv[3] ?? "") as ColdDelivery;
  const receiver = createWebhookReceiver({ secret, handlers: { new_alarm: () => undefined } });
  const { outcome } = await receiver.receive({ headers, body: Buffer.from(body) });
  const isGood = outcome === "handled";
  const coldStart: ColdStart = { bootMs, answerMs: performance.now() - bootMs, isGood };
  process.stdout.write(JSON.stringify(coldStart));
}

void answerFirst();
