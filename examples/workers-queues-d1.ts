// A Worker that acknowledges a delivery once Cloudflare Queues has it, and handles it from there, with D1 as its memory:
// docs/cloudflare.md has its wrangler.jsonc. On this machine, on workerd: npx tsx examples/demo/workers.ts, after npm run build
import { createWebhookReceiver, DiscardDelivery } from "identity-gateway-webhooks";
import {
  cloudflareQueue,
  cloudflareQueueHandler,
  d1Store,
  type CloudflareQueueHandler,
  type D1Binding,
} from "identity-gateway-webhooks/cloudflare";
import { fetchHandler, type FetchHandler } from "identity-gateway-webhooks/fetch";
import { inbox } from "identity-gateway-webhooks/inbox";

type QueueBinding = Parameters<typeof cloudflareQueue>[0]["queue"];

/** What wrangler.jsonc and `wrangler secret put` define; `wrangler types` writes it with Queue and D1Database. */
interface Env {
  readonly DB: D1Binding;
  readonly QUEUE: QueueBinding;
  readonly DEAD_QUEUE: QueueBinding;
  readonly GATEWAY_WEBHOOK_SECRET: string;
}

function makeHandlers(env: Env): { fetch: FetchHandler; queue: CloudflareQueueHandler } {
  // For both: the jobs have keys of their own.
  const store = d1Store({ database: env.DB });
  const driver = cloudflareQueue({ queue: env.QUEUE, deadQueue: env.DEAD_QUEUE });
  const receiver = createWebhookReceiver({
    secret: env.GATEWAY_WEBHOOK_SECRET,
    store,
    // Its job must fit into a message of 128 kB.
    maxBodyBytes: 90_000,
    handlers: inbox({ driver }),
  });
  const queue = cloudflareQueueHandler({
    driver,
    store,
    handlers: {
      new_alarm: (alarm, { id }) => {
        console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
      },
      delete_my_data_event: (event, { id }) => {
        if (event.severity === "INFO")
          throw new DiscardDelivery({ reason: "informational events are not handled" });
        console.log(`${id}: ${event.type}`);
      },
    },
    // The gateway does not send a dead delivery again, so alert on it.
    onJob: ({ outcome, id, attempt }) => {
      if (outcome === "dead") console.error(`${id} is dead after ${String(attempt)} attempts`);
    },
  });
  return { fetch: fetchHandler(receiver), queue };
}

// Made at the first call, because this file has no types for `import { env } from "cloudflare:workers"`.
let handlers: ReturnType<typeof makeHandlers> | undefined;

export default {
  fetch(request: Request, env: Env, ctx: unknown): Response | Promise<Response> {
    if (new URL(request.url).pathname !== "/webhooks/gateway") {
      return new Response(null, { status: 404 });
    }
    handlers ??= makeHandlers(env);
    return handlers.fetch(request, env, ctx);
  },
  queue(batch: Parameters<CloudflareQueueHandler>[0], env: Env): Promise<void> {
    handlers ??= makeHandlers(env);
    return handlers.queue(batch);
  },
};
