import type { BodyOptions } from "./http/body-limits.js";
import type { NodeRequest, NodeResponse } from "./http/node-connection.js";
import { nodeListener } from "./http/node-listener.js";
import type { MountableReceiver } from "../src/options/webhook-receiver.js";

/**
 * A listener for the `request` event of `node:http`, `node:https` and `node:http2` servers. It returns a
 * promise that settles when the response is finished or closed and never rejects, for hosts that await it
 * (Next, Nitro, h3). Its type is `unknown`, so that linters accept it where a listener returns nothing.
 */
export type NodeHandler = (req: NodeRequest, res: NodeResponse) => unknown;

const ADVICE =
  "Call nodeHandler(receiver) before anything reads the request, or keep its bytes in req.rawBody." +
  " Express: mount expressHandler(receiver) above express.json()." +
  " Nest: import WebhookReceiverModule from identity-gateway-webhooks/nestjs." +
  ' Fastify: app.register(fastifyPlugin, { receiver, path: "/webhooks/gateway" }) of …/fastify.' +
  " Koa: mount koaHandler(receiver) of …/koa above the body parser." +
  " Next pages/api: export const config = { api: { bodyParser: false } }.";

/**
 * Mounts a receiver on a Node server: HTTP, HTTPS, or HTTP/2 with its compatibility API.
 *
 * @throws ConfigurationError if `receiver` is not a receiver, for an unknown option and for a value out
 * of bounds.
 * @example
 * ```ts
 * http.createServer(nodeHandler(receiver)).listen(3000);
 * ```
 */
export function nodeHandler(receiver: MountableReceiver, options: BodyOptions = {}): NodeHandler {
  return nodeListener("nodeHandler", receiver, options, ADVICE);
}
