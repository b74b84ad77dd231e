// GATEWAY_WEBHOOK_SECRET=… npx tsx examples/hono.ts
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { honoHandler } from "identity-gateway-webhooks/hono";

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

const app = new Hono();
app.all("/webhooks/gateway", honoHandler(receiver));
app.get("/ready", (c) => c.body(null, receiver.health().draining ? 503 : 200));

const port = Number(process.env["PORT"] ?? 3000);
const server = serve({ fetch: app.fetch, port }, (address) => {
  console.log(`listening on http://localhost:${address.port}/webhooks/gateway`);
});

// Close the listener first, so that new deliveries go to another process. Then the running handlers finish.
process.once("SIGTERM", () => {
  server.close();
  void receiver.drain();
});
