import { createNodeHandler, type NodeHandler, type NodeHandlerOptions } from "./node.js";
import type { WebhookReceiver } from "../src/receiver.js";

/** Options of the Express adapter. */
export type ExpressHandlerOptions = NodeHandlerOptions;

/** An Express request handler: `app.post(path, expressHandler(receiver))`. */
export type ExpressHandler = NodeHandler;

const ADVICE =
  "Move app.post(…, expressHandler(receiver)) above app.use(express.json()) or whichever parser reads" +
  " the body, or let that parser keep the bytes:" +
  " express.json({ verify: (req, _res, bytes) => { req.rawBody = bytes; } }).";

/**
 * Mounts a receiver on Express 4.18 or 5, before any body parser:
 * `app.post("/webhooks/gateway", expressHandler(receiver))`.
 *
 * @throws ConfigurationError for an option out of its bounds.
 */
export function expressHandler(
  receiver: WebhookReceiver,
  options: ExpressHandlerOptions = {},
): ExpressHandler {
  return createNodeHandler(receiver, options, ADVICE);
}
