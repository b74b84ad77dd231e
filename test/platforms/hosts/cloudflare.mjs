import { env } from "cloudflare:workers";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { d1Store } from "identity-gateway-webhooks/cloudflare";
import { fetchHandler } from "identity-gateway-webhooks/fetch";

/** Asks the runner, so that each handler takes a while, and fails when the runner wants it to. */
async function record(_record, { id }) {
  const { ok } = await fetch(`${env.LEDGER_URL}${id}`, { method: "POST" });
  if (!ok) throw new Error("the ledger is closed");
}

const receiver = createWebhookReceiver({
  secret: env.GATEWAY_WEBHOOK_SECRET,
  store: d1Store({ database: env.DB }),
  handlers: { new_alarm: record, delete_my_data_event: record, unrecognized: record },
  // Shorter than the runner makes a handler slow.
  handlerTimeoutMs: 1_000,
  logger: false,
});

export default { fetch: fetchHandler(receiver) };
