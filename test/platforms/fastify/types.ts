// Compiled, never run: the plugin fits wherever Fastify 4 and 5 take one.
import fastify5, {
  type FastifyPluginAsync as Async5,
  type FastifyPluginCallback as Callback5,
} from "fastify";
import fastify4, {
  type FastifyPluginAsync as Async4,
  type FastifyPluginCallback as Callback4,
} from "fastify4";
import { fastifyHandler } from "../../../adapters/fastify.js";
import { createWebhookReceiver } from "../../../src/index.js";

const receiver = createWebhookReceiver({ secret: "s", handlers: { new_alarm: () => undefined } });
const plugin = fastifyHandler(receiver, { path: "/webhooks/gateway", bodyTimeoutMs: 1_000 });

export const plugins: readonly [Async4, Callback4, Async5, Callback5] = [
  plugin,
  plugin,
  plugin,
  plugin,
];

export async function register(): Promise<void> {
  await fastify4().register(plugin).register(plugin, { prefix: "/api", logLevel: "warn" });
  await fastify4({ https: {} }).register(plugin, { prefix: "/api" });
  await fastify4({ http2: true }).register(plugin);
  await fastify4({ http2: true, https: {} }).register(plugin);
  await fastify5().register(plugin).register(plugin, { prefix: "/api", logLevel: "warn" });
  await fastify5({ https: {} }).register(plugin, { prefix: "/api" });
  await fastify5({ http2: true }).register(plugin);
  await fastify5({ http2: true, https: {} }).register(plugin);
  await fastify5().register(async (scope) => {
    await scope.register(plugin);
  });
  // @ts-expect-error: a plugin is no handler of a route
  fastify4().post("/webhooks/gateway", plugin);
  // @ts-expect-error: a plugin is no handler of a route
  fastify5().post("/webhooks/gateway", plugin);
}

// @ts-expect-error: the path is missing
fastifyHandler(receiver, {});
// @ts-expect-error: the options are missing
fastifyHandler(receiver);
// @ts-expect-error: a misspelt option
fastifyHandler(receiver, { path: "/", bodyTimeout: 1_000 });
