import { createBodyLimits, type BodyTimeoutOption } from "./body-limits.js";
import { writeAnswer, writeAnswerAndClose, type NodeResponse } from "./node-answer.js";
import { readNodeBody, type NodeRequest } from "./node-body.js";
import type { WebhookReceiver } from "../src/receiver.js";
import { UnreadableBody } from "../src/unreadable-body.js";

/** A listener for the `request` event of `node:http`, `node:https` and `node:http2` servers. */
export type NodeListener = (req: NodeRequest, res: NodeResponse) => void;

/**
 * Makes the listener of a Node adapter; `advice` says in the log how to mount that one. Throws
 * `ConfigurationError` for an option out of its bounds.
 */
export function createNodeListener(
  receiver: WebhookReceiver,
  options: BodyTimeoutOption,
  advice: string,
): NodeListener {
  const limits = createBodyLimits(receiver, options);

  const handle = async (req: NodeRequest, res: NodeResponse): Promise<void> => {
    const { method, headers } = req;
    // What is no POST is refused unread; Node throws its body away.
    const body = method === "POST" ? await readNodeBody(req, limits, advice) : "";
    if (body === undefined) return;
    const answer = await receiver.receive({ method, headers, body });
    const isUnfinished = body instanceof UnreadableBody && body.isUnfinished;
    if (isUnfinished) writeAnswerAndClose(req, res, answer);
    else writeAnswer(req, res, answer);
  };

  return (req, res) => {
    handle(req, res).catch(() => {
      // A bug of ours or a response that something else took over. To the gateway a closed connection
      // is a network error, on which it sends again.
      res.destroy();
    });
  };
}
