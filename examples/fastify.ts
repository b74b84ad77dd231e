// GATEWAY_WEBHOOK_SECRET=… npx tsx examples/fastify.ts
import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { fastifyPlugin } from "identity-gateway-webhooks/fastify";

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

const app = fastify();
// A scope of its own: the app's parsers, limits and error handler do not reach the webhook.
app.register(fastifyPlugin, { receiver, path: "/webhooks/gateway" });
app.get("/ready", (_request, reply) => reply.code(receiver.health().draining ? 503 : 200).send());

// Without `host` Fastify listens on this machine's own address alone, which a container's clients cannot reach.
app.listen({ host: "0.0.0.0", port: Number(process.env["PORT"] ?? 3000) }, (error) => {
  if (error !== null) throw error;
  const { port } = app.server.address() as AddressInfo;
  console.log(`listening on http://localhost:${port}/webhooks/gateway`);
});

// Close the listener first, so that new deliveries go to another process. Then the running handlers finish.
process.once("SIGTERM", () => {
  void app.close();
  void receiver.drain();
});
