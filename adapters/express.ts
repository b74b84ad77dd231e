import type { BodyOptions } from "./http/body-limits.js";
import type { NodeRequest, NodeResponse } from "./http/node-connection.js";
import { nodeListener } from "./http/node-listener.js";
import type { MountableReceiver } from "../src/options/webhook-receiver.js";

/**
 * An Express request handler. At run time it returns a promise that settles with the response and never
 * rejects. Its type is `void`, so that linters accept it wherever Express does.
 */
export type ExpressHandler = (req: NodeRequest, res: NodeResponse) => void;

const ADVICE =
  "Move app.all(…, expressHandler(receiver)) above app.use(express.json()) or whichever parser reads" +
  " the body, or let that parser keep the bytes and take as many as the receiver:" +
  ' express.json({ limit: "1mb", verify: (req, _res, bytes) => { req.rawBody = bytes; } }).' +
  " Nest: import WebhookReceiverModule from identity-gateway-webhooks/nestjs, which mounts ahead of the" +
  " parsers.";

/**
 * Mounts a receiver on Express 4.18 or 5. Mount it before any body parser, and by `all`: behind `post` Express itself
 * answers 404 to a delivery that a redirect turned into a GET, and the gateway gives it up.
 *
 * @throws ConfigurationError if `receiver` is not a receiver, for an unknown option and for a value out
 * of bounds.
 * @example
 * ```ts
 * app.all("/webhooks/gateway", expressHandler(receiver));
 * ```
 */
export function expressHandler(
  receiver: MountableReceiver,
  options: BodyOptions = {},
): ExpressHandler {
  return nodeListener("expressHandler", receiver, options, ADVICE);
}
