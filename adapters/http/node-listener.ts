import { createBodyLimits, type BodyOptions } from "./body-limits.js";
import { isOurs, writeAnswer, writeAnswerAndClose, writeLastAnswer } from "./node-answer.js";
import { readNodeBody, type NodeRequest } from "./node-body.js";
import { isGone, settled, type NodeResponse } from "./node-connection.js";
import { adapterSideOf } from "../../src/answer/adapter-side.js";
import type { WebhookResponse } from "../../src/answer/answer.js";
import type { WebhookReceiver } from "../../src/receiver.js";
import { UnreadableBody } from "../../src/delivery/request.js";

/**
 * Answers one request. Returns a promise that settles with the response and never rejects; typed `unknown`,
 * so that linters take it for a listener that returns nothing.
 */
export type NodeListener = (req: NodeRequest, res: NodeResponse) => unknown;

/**
 * Makes the listener of a Node adapter. `maker` names the adapter in errors, and `advice` says in the log
 * how to mount it. Throws `ConfigurationError` for what is no receiver, and for an option out of its bounds.
 */
export function createNodeListener(
  maker: string,
  receiver: WebhookReceiver,
  options: BodyOptions,
  advice: string,
): NodeListener {
  const limits = createBodyLimits(maker, receiver, options);
  const { isDraining, logLostAnswer } = adapterSideOf(receiver);

  const answerWith = (
    req: NodeRequest,
    res: NodeResponse,
    body: unknown,
    answer: WebhookResponse,
  ): Promise<void> | undefined => {
    if (isGone(req, res)) return undefined;
    if (!isOurs(res)) {
      // It may be a time-out middleware, which finishes what it has begun.
      logLostAnswer(answer, TAKEN_OVER);
      return undefined;
    }
    const isUnfinished = body instanceof UnreadableBody && body.isUnfinished;
    if (isUnfinished) return writeAnswerAndClose(req, res, answer);
    if (isDraining()) writeLastAnswer(req, res, answer);
    else writeAnswer(req, res, answer);
    return undefined;
  };

  return async (req, res) => {
    const { method, headers } = req;
    let answer: WebhookResponse | undefined;
    try {
      // What is no POST is refused unread; Node throws its body away.
      const body = method === "POST" ? await readNodeBody(req, limits, advice) : "";
      if (body !== undefined) {
        const isDisconnected = () => isGone(req, res);
        answer = await receiver.receive({ method, headers, body, isDisconnected });
        const closing = answerWith(req, res, body, answer);
        if (closing !== undefined) await closing;
      }
    } catch (error) {
      logLostAnswer(answer, NOT_WRITTEN, error);
      // To the gateway a closed connection is a network error, on which it sends again.
      res.destroy();
    }
    // Hosts that await a listener would otherwise answer in its place.
    const end = settled(req, res);
    if (end !== undefined) await end;
  };
}

const TAKEN_OVER =
  "something else has begun an answer, such as a time-out middleware: mount the receiver outside of it";
const NOT_WRITTEN =
  "writing it failed, so the connection was closed and the gateway sends again: look for a middleware" +
  " that replaces writeHead, write or end of the response";
