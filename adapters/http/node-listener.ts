import { bodyLimits, wrongCall, type BodyOptions } from "./body-limits.js";
import { invocationsOf } from "./invocation.js";
import { isOurs, writeAnswer, writeAnswerAndClose, writeLastAnswer } from "./node-answer.js";
import { readNodeBody } from "./node-body.js";
import { isGone, settled, type NodeRequest, type NodeResponse } from "./node-connection.js";
import type { WebhookResponse } from "../../src/answer/answer.js";
import { internalsOf, type MountableReceiver } from "../../src/options/webhook-receiver.js";
import { UnreadableBody } from "../../src/delivery/request.js";

/**
 * Answers one request. Returns a promise that settles with the response. It rejects only if it was called without a
 * response of Node. Its type is `unknown`, so that linters accept it where a listener returns nothing.
 */
export type NodeListener = (req: NodeRequest, res: NodeResponse) => unknown;

const TAKEN_OVER =
  "something else has begun an answer, such as a time-out middleware: mount the receiver outside of it";
const NOT_WRITTEN =
  "writing it failed, so the connection was closed and the gateway sends again: look for a middleware" +
  " that replaces writeHead, write or end of the response";

/**
 * The listener of a Node adapter. Errors name the adapter as `adapter`; the log gives `advice` on how to
 * mount it. Throws `ConfigurationError` as `bodyLimits` does.
 */
export function nodeListener(
  adapter: string,
  receiver: MountableReceiver,
  options: BodyOptions,
  advice: string,
): NodeListener {
  const limits = bodyLimits(adapter, receiver, options);
  const internal = internalsOf(receiver);
  const invocations = invocationsOf(receiver);

  return async (req, res) => {
    if (typeof (res as Partial<NodeResponse> | undefined)?.end !== "function") {
      throw wrongCall(adapter, "the request and the response of Node");
    }
    const { method, headers } = req;
    let answer: WebhookResponse | undefined;
    try {
      // The receiver needs the body of a POST only. Node drops the body of other requests.
      const body = method === "POST" ? await readNodeBody(req, limits, advice) : "";
      if (body !== undefined) {
        const isDisconnected = () => isGone(req, res);
        const kept = body === req.body ? "body" : "wire";
        const bodySource = body === req.rawBody ? "rawBody" : kept;
        const request = { method, headers, body, isDisconnected, bodySource } as const;
        answer = await (invocations === undefined
          ? receiver.receive(request)
          : invocations.receive(request, req.apiGateway?.context));
        // Bytes are tested for first, which is faster.
        const isUnfinished =
          !(body instanceof Uint8Array) && body instanceof UnreadableBody && body.isUnfinished;
        if (!isOurs(res)) {
          // Another middleware has begun an answer, and finishes it.
          if (!isGone(req, res)) internal?.logLostAnswer(answer, TAKEN_OVER);
        } else if (isUnfinished) await writeAnswerAndClose(req, res, answer);
        else if (internal?.isDraining() === true) writeLastAnswer(req, res, answer);
        else writeAnswer(req, res, answer);
      }
    } catch (error) {
      internal?.logLostAnswer(answer, NOT_WRITTEN, error);
      // The gateway treats a closed connection as a network error and sends again.
      res.destroy();
    }
    // A host that awaits its listener would otherwise write an answer of its own.
    const end = settled(req, res);
    if (end !== undefined) await end;
  };
}
