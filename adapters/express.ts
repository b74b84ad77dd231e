import type { BodyOptions } from "./http/body-limits.js";
import type { NodeRequest } from "./http/node-body.js";
import type { NodeResponse } from "./http/node-connection.js";
import { createNodeListener } from "./http/node-listener.js";
import type { WebhookReceiver } from "../src/receiver.js";

/** Options of the Express adapter. */
export type ExpressHandlerOptions = BodyOptions;

/**
 * An Express request handler. What it returns at run time is a promise that settles with the response and
 * never rejects, typed `void` so that linters take it wherever Express does.
 */
export type ExpressHandler = (req: NodeRequest, res: NodeResponse) => void;

const ADVICE =
  "Move app.post(…, expressHandler(receiver)) above app.use(express.json()) or whichever parser reads" +
  " the body, or let that parser keep the bytes and take as many as the receiver:" +
  ' express.json({ limit: "1mb", verify: (req, _res, bytes) => { req.rawBody = bytes; } }).' +
  " Nest: NestFactory.create(AppModule, { rawBody: true }).";

/**
 * Mounts a receiver on Express 4.18 or 5, before any body parser:
 * `app.post("/webhooks/gateway", expressHandler(receiver))`.
 *
 * @throws ConfigurationError for what is no receiver, an unknown option and one out of its bounds.
 */
export function expressHandler(
  receiver: WebhookReceiver,
  options: ExpressHandlerOptions = {},
): ExpressHandler {
  return createNodeListener("expressHandler", receiver, options, ADVICE);
}
