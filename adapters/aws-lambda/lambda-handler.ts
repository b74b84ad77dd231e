import { answersByOutcome } from "../../src/answer/answer.js";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import { internalsOf, type MountableReceiver } from "../../src/options/webhook-receiver.js";
import { checkReceiver } from "../http/body-limits.js";
import {
  httpEventOf,
  requestOf,
  resultOf,
  type LambdaEvent,
  type LambdaResult,
} from "./http-event.js";
import { inTime, InvocationDeadline, OpenWork, type LambdaContext } from "./invocation.js";

/** Options of the Lambda adapter. */
export interface LambdaHandlerOptions {
  /**
   * How long before the function's time-out a handler that still runs is given up, so that the gateway
   * gets an answer: its `context.signal` aborts, the answer is 503, and the next attempt takes over when
   * the lease has ended. Never more than half of the time that the invocation has. Milliseconds, from 1 to
   * 900 000, default 1 000.
   */
  marginMs?: number | undefined;
}

/**
 * The handler of a Lambda function. It is answered in the form of its event. It rejects with
 * `no_http_event` for an event that is no HTTP request.
 */
export type LambdaHandler = (event: LambdaEvent, context?: LambdaContext) => Promise<LambdaResult>;

const TIME_IS_UP =
  "handler_timeout: the function's time was up before the secret function, the store or a transaction had" +
  " answered, so the gateway is told to send again. Raise the function's time-out, or lower" +
  " dependencyTimeoutMs";
const MARGIN = { fallback: 1_000, min: 1, max: 900_000 };

/**
 * Mounts a receiver on AWS Lambda: behind an HTTP API (payload format 2.0 or 1.0), a REST API, a function
 * URL or an Application Load Balancer. Lambda freezes the process when the function returns, so it returns
 * only when the handler has settled and the store has remembered it, or shortly before the function's
 * time-out. That takes the place of `handlerTimeoutMs`, after which only `context.signal` aborts.
 *
 * @throws ConfigurationError if `receiver` is not a receiver, for an unknown option and for a value out
 * of bounds.
 * @example
 * ```ts
 * export const handler = lambdaHandler(receiver);
 * ```
 */
export function lambdaHandler(
  receiver: MountableReceiver,
  options: LambdaHandlerOptions = {},
): LambdaHandler {
  checkReceiver("lambdaHandler", receiver);
  const own = ownOptions("lambdaHandler", options, ["marginMs"]);
  const marginMs = integerOption("marginMs", own.marginMs, MARGIN);
  const timeIsUp = answersByOutcome("retry").handler_timeout.response;

  return async (event, context) => {
    const deadline = new InvocationDeadline(context, marginMs);
    const httpEvent = httpEventOf(event);
    const work = new OpenWork();
    const request = { ...requestOf(httpEvent), waitUntil: work.add, hostDeadline: deadline };
    const answer = await inTime(receiver.receive(request), deadline.returnBy);
    if (answer === undefined) internalsOf(receiver)?.log.error(TIME_IS_UP);
    else await work.end(deadline);
    return resultOf(httpEvent, answer ?? timeIsUp);
  };
}
