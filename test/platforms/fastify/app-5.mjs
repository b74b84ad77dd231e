import Fastify from "fastify";
import { fastifyHandler } from "identity-gateway-webhooks/fastify";
import { receiver } from "./receiver.mjs";

const app = Fastify();
app.register(fastifyHandler(receiver, { path: "/webhooks/gateway" }));
await app.listen({ host: process.env.HOST, port: process.env.PORT ?? 3000 });
