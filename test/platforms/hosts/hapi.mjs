import Hapi from "@hapi/hapi";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { receiver } from "./receiver.mjs";

const handle = nodeHandler(receiver);
const server = Hapi.server({ port: process.env.PORT ?? 3000 });
server.route({
  method: "*",
  path: "/webhooks/gateway",
  options: {
    payload: { parse: false, output: "stream", override: "application/json", maxBytes: 2 ** 30 },
  },
  handler: async ({ raw }, h) => {
    await handle(raw.req, raw.res);
    return h.abandon;
  },
});
await server.start();
