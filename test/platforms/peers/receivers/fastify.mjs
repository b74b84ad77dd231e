import fastify from "fastify";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { fastifyPlugin } from "identity-gateway-webhooks/fastify";

export async function serve(options, path, port) {
  const app = fastify();
  app.register(fastifyPlugin, { receiver: createWebhookReceiver(options), path });
  await app.listen({ port, host: "127.0.0.1" });
}
