// The receiver of every platform's app.
import { createWebhookReceiver } from "identity-gateway-webhooks";

/** Asks the runner, so that each handler takes a while, and fails when the runner wants it to. */
async function record(_record, { id }) {
  const { ok } = await fetch(`${process.env.LEDGER_URL}${id}`, { method: "POST" });
  if (!ok) throw new Error("the ledger is closed");
}

export const receiver = createWebhookReceiver({
  secret: process.env.GATEWAY_WEBHOOK_SECRET,
  handlers: { new_alarm: record, delete_my_data_event: record, unrecognized: record },
  // Shorter than the runner makes a handler slow.
  handlerTimeoutMs: 1_000,
  logger: false,
});
