// A Worker with D1, for `wrangler dev` and `wrangler deploy`: docs/cloudflare.md has its wrangler.jsonc.
// This file also runs as it stands on workerd by miniflare: the tests do that.
import { createWebhookReceiver, type WebhookReceiver } from "identity-gateway-webhooks";
import { d1Store, type D1Binding } from "identity-gateway-webhooks/cloudflare";
import { fetchHandler, type FetchHandler } from "identity-gateway-webhooks/fetch";

/** What wrangler.jsonc and `wrangler secret put` define; `wrangler types` writes it with D1Database. */
interface Env {
  readonly DB: D1Binding;
  readonly GATEWAY_WEBHOOK_SECRET: string;
}

function makeReceiver({ DB: database, GATEWAY_WEBHOOK_SECRET: secret }: Env): WebhookReceiver {
  return createWebhookReceiver({
    secret,
    store: d1Store({ database }),
    handlers: {
      new_alarm: async (alarm, { id }) => {
        // D1 has no interactive transactions, so a repeated run must do no harm: the id is the key.
        const insert = "INSERT INTO alarms VALUES (?, ?, ?) ON CONFLICT (delivery_id) DO NOTHING";
        await database.batch([
          database.prepare(insert).bind(id, alarm.account_id, alarm.event_type),
        ]);
      },
    },
  });
}

// Made at the first request, because this file has no types for `import { env } from "cloudflare:workers"`.
let handle: FetchHandler | undefined;

export default {
  fetch(request: Request, env: Env, ctx: unknown): Response | Promise<Response> {
    if (new URL(request.url).pathname !== "/webhooks/gateway") {
      return new Response(null, { status: 404 });
    }
    handle ??= fetchHandler(makeReceiver(env));
    return handle(request, env, ctx);
  },
  async scheduled(_event: unknown, { DB: database }: Env): Promise<void> {
    await d1Store({ database }).purge();
  },
};
