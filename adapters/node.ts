import { checkBodyTimeout, type BodyTimeoutOption } from "./body-timeout.js";
import { writeAnswer, writeAnswerAndClose, type NodeResponse } from "./node-answer.js";
import { readNodeBody, type NodeRequest } from "./node-body.js";
import type { WebhookReceiver } from "../src/receiver.js";

/** Options of the Node adapters. */
export type NodeHandlerOptions = BodyTimeoutOption;

/** A listener for the `request` event of `node:http`, `node:https` and `node:http2` servers. */
export type NodeHandler = (req: NodeRequest, res: NodeResponse) => void;

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
  return createNodeHandler(receiver, options, ADVICE);
}

/** What the adapters of the Node family share; `advice` says how to mount the one in question. */
export function createNodeHandler(
  receiver: WebhookReceiver,
  options: NodeHandlerOptions,
  advice: string,
): NodeHandler {
  const limits = {
    maxBodyBytes: receiver.maxBodyBytes,
    bodyTimeoutMs: checkBodyTimeout(options.bodyTimeoutMs),
  };

  const handle = async (req: NodeRequest, res: NodeResponse): Promise<void> => {
    const { method, headers } = req;
    // What is no POST is refused unread; Node throws its body away.
    const body = method === "POST" ? await readNodeBody(req, limits, advice) : "";
    if (body === undefined) return;
    const answer = await receiver.receive({ method, headers, body });
    const isUnread = answer.outcome === "body_too_large" || answer.outcome === "body_timeout";
    if (isUnread) writeAnswerAndClose(req, res, answer);
    else writeAnswer(res, answer);
  };

  return (req, res) => {
    handle(req, res).catch(() => {
      // A bug of ours or a response that something else took over. To the gateway a closed connection
      // is a network error, on which it sends again.
      res.destroy();
    });
  };
}
