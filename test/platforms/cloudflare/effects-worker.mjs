// A Worker whose handler waits for HANDLER_MS and then writes a row for each run.
import { env } from "cloudflare:workers";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { d1Store } from "identity-gateway-webhooks/cloudflare";
import { fetchHandler } from "identity-gateway-webhooks/fetch";

const receiver = createWebhookReceiver({
  secret: env.GATEWAY_WEBHOOK_SECRET,
  store: d1Store({ database: env.DB }),
  handlers: {
    new_alarm: async (_alarm, { id, takeover }) => {
      await new Promise((resolve) => setTimeout(resolve, env.HANDLER_MS));
      await env.DB.prepare("INSERT INTO effects VALUES (?, ?)")
        .bind(id, takeover ? 1 : 0)
        .run();
    },
  },
  handlerTimeoutMs: 500,
  logger: false,
});

export default { fetch: fetchHandler(receiver) };
