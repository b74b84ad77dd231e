// Compiled with @cloudflare/workers-types, never run: which bindings d1Store accepts.
import { createWebhookReceiver, type DeliveryStore } from "identity-gateway-webhooks";
import {
  cloudflareQueue,
  cloudflareQueueHandler,
  d1Schema,
  d1Store,
  type D1Store,
} from "identity-gateway-webhooks/cloudflare";
import { fetchHandler } from "identity-gateway-webhooks/fetch";

interface Env {
  readonly DB: D1Database;
  readonly KV: KVNamespace;
  readonly QUEUE: Queue;
  readonly GATEWAY_WEBHOOK_SECRET: string;
}
declare const env: Env;

const store: D1Store = d1Store({ database: env.DB, table: undefined });
const plain: DeliveryStore = d1Store({ database: env.DB, table: "deliveries" });
const purged: Promise<number> = store.purge({ batchRows: 100 });
const ddl: string = d1Schema("deliveries");

// @ts-expect-error: a session may read from a replica
d1Store({ database: env.DB.withSession("first-primary") });
// @ts-expect-error: KV has no compare-and-set
d1Store({ database: env.KV });
// @ts-expect-error: without a database
d1Store({});
// @ts-expect-error: a misspelt option
d1Store({ database: env.DB, tabel: "deliveries" });
// @ts-expect-error: the option is batchRows
void store.purge({ batch: 100 });

const driver = cloudflareQueue({ queue: env.QUEUE, deadQueue: env.QUEUE });
// @ts-expect-error: KV is no queue
cloudflareQueue({ queue: env.KV });
const queue = cloudflareQueueHandler({ driver, store, handlers: { new_alarm: () => undefined } });
// @ts-expect-error: without deadQueue it runs nothing
cloudflareQueueHandler({ driver: cloudflareQueue({ queue: env.QUEUE }), store, handlers: {} });

const receiver = createWebhookReceiver({
  secret: env.GATEWAY_WEBHOOK_SECRET,
  store,
  handlers: { new_alarm: () => undefined },
});

export { ddl, plain, purged };
export default {
  fetch: fetchHandler(receiver),
  queue,
  scheduled: (_event, _env, ctx) => {
    ctx.waitUntil(store.purge());
  },
} satisfies ExportedHandler<Env>;
