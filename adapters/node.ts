import type { BodyOptions } from "./http/body-limits.js";
import type { NodeRequest } from "./http/node-body.js";
import type { NodeResponse } from "./http/node-connection.js";
import { createNodeListener } from "./http/node-listener.js";
import type { WebhookReceiver } from "../src/receiver.js";

/** Options of the Node adapter. */
export type NodeHandlerOptions = BodyOptions;

/**
 * A listener for the `request` event of `node:http`, `node:https` and `node:http2` servers. It returns a
 * promise that settles when the response is finished or closed, and never rejects, for hosts that await
 * it (Next, Nitro, h3). Typed `unknown`, so that linters take it for a listener that returns nothing.
 */
export type NodeHandler = (req: NodeRequest, res: NodeResponse) => unknown;

const ADVICE =
  "Call nodeHandler(receiver) before anything reads the request, or keep its bytes in req.rawBody." +
  " Express: mount expressHandler(receiver) above express.json()." +
  " Nest: NestFactory.create(AppModule, { rawBody: true })." +
  ' Fastify: let addContentTypeParser("application/json", …) leave the payload unread, then' +
  " reply.hijack() and pass request.raw and reply.raw." +
  " Koa: mount above koa-bodyparser and pass ctx.req and ctx.res." +
  " Next pages/api: export const config = { api: { bodyParser: false } }.";

/**
 * Mounts a receiver on plain Node: `http.createServer(nodeHandler(receiver))`, also on HTTPS and on
 * HTTP/2's compatibility API.
 *
 * @throws ConfigurationError for what is no receiver, an unknown option and one out of its bounds.
 */
export function nodeHandler(
  receiver: WebhookReceiver,
  options: NodeHandlerOptions = {},
): NodeHandler {
  return createNodeListener("nodeHandler", receiver, options, ADVICE);
}
