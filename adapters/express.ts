import type { BodyTimeoutOption } from "./body-limits.js";
import { createNodeListener, type NodeListener } from "./node-listener.js";
import type { WebhookReceiver } from "../src/receiver.js";

/** Options of the Express adapter. */
export type ExpressHandlerOptions = BodyTimeoutOption;

/** An Express request handler. */
export type ExpressHandler = NodeListener;

const ADVICE =
  "Move app.post(…, expressHandler(receiver)) above app.use(express.json()) or whichever parser reads" +
  " the body, or let that parser keep the bytes and take as many as the receiver:" +
  ' express.json({ limit: "1mb", verify: (req, _res, bytes) => { req.rawBody = bytes; } }).';

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
  return createNodeListener(receiver, options, ADVICE);
}
