// GATEWAY_WEBHOOK_SECRET=… npx tsx examples/koa.ts
import type { AddressInfo } from "node:net";
import Koa from "koa";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { koaHandler } from "identity-gateway-webhooks/koa";

const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  handlers: {
    new_alarm: (alarm, { id }) => {
      console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
    },
    delete_my_data_event: (event, { id }) => {
      console.log(`${id}: ${event.type}`);
    },
  },
});

const handleWebhook = koaHandler(receiver);

const app = new Koa();
// Before any body parser: the signature covers the raw bytes. A router or koa-mount does the same.
app.use((ctx, next) => (ctx.path === "/webhooks/gateway" ? handleWebhook(ctx) : next()));
app.use((ctx, next) => {
  if (ctx.path !== "/ready") return next();
  ctx.status = receiver.health().draining ? 503 : 200;
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listening on http://localhost:${port}/webhooks/gateway`);
});

// Close the listener first, so that new deliveries go to another process. Then the running handlers finish.
process.once("SIGTERM", () => {
  server.close();
  void receiver.drain();
});
