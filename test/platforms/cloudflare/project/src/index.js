import { env } from "cloudflare:workers";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { d1Store } from "identity-gateway-webhooks/cloudflare";
import { fetchHandler } from "identity-gateway-webhooks/fetch";

const store = d1Store({ database: env.DB });
const receiver = createWebhookReceiver({
  secret: env.GATEWAY_WEBHOOK_SECRET,
  store,
  handlers: {
    new_alarm: async (alarm, { id }) => {
      console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
    },
    delete_my_data_event: {
      "*": async (event, { id }) => console.log(`${id}: ${event.type}`),
    },
  },
});

export default {
  fetch: fetchHandler(receiver),
  scheduled: (_event, _env, ctx) => ctx.waitUntil(store.purge()),
};
