import type { BodyTimeoutOption } from "./body-limits.js";
import { createNodeListener, type NodeListener } from "./node-listener.js";
import type { WebhookReceiver } from "../src/receiver.js";

/** Options of the Node adapter. */
export type NodeHandlerOptions = BodyTimeoutOption;

/** A listener for the `request` event of `node:http`, `node:https` and `node:http2` servers. */
export type NodeHandler = NodeListener;

const ADVICE =
  "Call nodeHandler(receiver) before anything reads the request, or keep its bytes in req.rawBody.";

/**
 * Mounts a receiver on plain Node: `http.createServer(nodeHandler(receiver))`, also on HTTPS and on
 * HTTP/2's compatibility API.
 *
 * @throws ConfigurationError for an option out of its bounds.
 */
export function nodeHandler(
  receiver: WebhookReceiver,
  options: NodeHandlerOptions = {},
): NodeHandler {
  return createNodeListener(receiver, options, ADVICE);
}
