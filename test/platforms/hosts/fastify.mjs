import Fastify from "fastify";
import { fastifyPlugin } from "identity-gateway-webhooks/fastify";
import { receiver } from "./receiver.mjs";

const app = Fastify();
app.register(fastifyPlugin, { receiver, path: "/webhooks/gateway" });
await app.listen({ host: process.env.HOST, port: process.env.PORT ?? 3000 });
