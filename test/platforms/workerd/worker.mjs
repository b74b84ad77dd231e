import { createWebhookReceiver } from "identity-gateway-webhooks";
import { fetchHandler } from "identity-gateway-webhooks/fetch";

const LEDGER_URL = "http://ledger/";

async function record(id) {
  const { ok } = await fetch(LEDGER_URL + id, { method: "POST" });
  if (!ok) throw new Error("the ledger is closed");
}

/** Longer than `handlerTimeoutMs`, so that the gateway is answered before. */
async function recordLate(_record, { id }) {
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await record(id);
}

const secret = "whsec_test_0123456789abcdef";
const handler = (_record, { id }) => record(id);

const handle = fetchHandler(
  createWebhookReceiver({
    secret,
    handlers: { new_alarm: handler, delete_my_data_event: handler, unrecognized: handler },
    // Shorter than the runner makes a handler slow.
    handlerTimeoutMs: 1_000,
    logger: false,
  }),
);

const handleLate = fetchHandler(
  createWebhookReceiver({
    secret,
    handlers: { new_alarm: recordLate },
    handlerTimeoutMs: 100,
    leaseMs: 1_000,
    logger: false,
  }),
);

export default {
  fetch(request, env, context) {
    switch (new URL(request.url).pathname) {
      case "/late":
        return handleLate(request, env, context);
      case "/late-without-context":
        return handleLate(request);
      default:
        return handle(request, env, context);
    }
  },
};
