import Fastify from "fastify";
import { fastifyPlugin } from "identity-gateway-webhooks/fastify";
import { receiver } from "./receiver.mjs";

const app = Fastify();
app.register(fastifyPlugin, { receiver, path: "/webhooks/gateway" });
// In a container HOST is 0.0.0.0: by itself Fastify answers its own machine only.
await app.listen({ host: process.env.HOST, port: process.env.PORT ?? 3000 });
