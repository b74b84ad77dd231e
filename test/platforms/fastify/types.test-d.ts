// Compiled, never run: the plugin fits wherever Fastify 4 and 5 take one.
import fastify5, { type FastifyPluginAsync as Async5 } from "fastify";
import fastify4, { type FastifyPluginAsync as Async4 } from "fastify4";
import { fastifyPlugin, type FastifyPluginOptions } from "../../../adapters/fastify.js";
import { createWebhookReceiver } from "../../../src/index.js";

const receiver = createWebhookReceiver({ secret: "s", handlers: { new_alarm: () => undefined } });
const options = { receiver, path: "/webhooks/gateway", bodyTimeoutMs: 1_000 };

export const plugins: readonly [Async4<FastifyPluginOptions>, Async5<FastifyPluginOptions>] = [
  fastifyPlugin,
  fastifyPlugin,
];

export async function register(): Promise<void> {
  const prefixed = { ...options, prefix: "/api", logLevel: "warn" } as const;
  await fastify4().register(fastifyPlugin, options).register(fastifyPlugin, prefixed);
  await fastify4({ https: {} }).register(fastifyPlugin, prefixed);
  await fastify4({ http2: true }).register(fastifyPlugin, options);
  await fastify4({ http2: true, https: {} }).register(fastifyPlugin, options);
  await fastify5().register(fastifyPlugin, options).register(fastifyPlugin, prefixed);
  await fastify5({ https: {} }).register(fastifyPlugin, prefixed);
  await fastify5({ http2: true }).register(fastifyPlugin, options);
  await fastify5({ http2: true, https: {} }).register(fastifyPlugin, options);
  await fastify5().register(async (scope) => {
    await scope.register(fastifyPlugin, options);
  });
  // @ts-expect-error: a plugin is no handler of a route
  fastify4().post("/webhooks/gateway", fastifyPlugin);
  // @ts-expect-error: a plugin is no handler of a route
  fastify5().post("/webhooks/gateway", fastifyPlugin);
}

// @ts-expect-error: the path is missing
fastify5().register(fastifyPlugin, { receiver });
// @ts-expect-error: the receiver is missing
fastify5().register(fastifyPlugin, { path: "/" });
// @ts-expect-error: a path that is no text
fastify5().register(fastifyPlugin, { receiver, path: 5 });
