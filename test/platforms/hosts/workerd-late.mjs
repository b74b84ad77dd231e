// A worker whose handler takes longer than `handlerTimeoutMs`, so that the gateway is answered before. It passes on no ctx.
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { fetchHandler } from "identity-gateway-webhooks/fetch";

async function recordLate(_record, { id }) {
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await fetch(process.env.LEDGER_URL + id, { method: "POST" });
}

const handle = fetchHandler(
  createWebhookReceiver({
    secret: process.env.GATEWAY_WEBHOOK_SECRET,
    handlers: { new_alarm: recordLate },
    handlerTimeoutMs: 100,
    leaseMs: 1_000,
    logger: false,
  }),
);

export default { fetch: (request) => handle(request) };
