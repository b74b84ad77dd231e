import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import { DEFAULT_MARGIN_MS, type LambdaContext } from "../../src/delivery/request.js";
import type { MountableReceiver } from "../../src/options/webhook-receiver.js";
import { checkReceiver } from "../http/body-limits.js";
import { Invocations } from "../http/invocation.js";
import {
  httpEventOf,
  requestOf,
  resultOf,
  type LambdaEvent,
  type LambdaResult,
} from "./http-event.js";

/** Options of the Lambda adapter. */
interface LambdaHandlerOptions {
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

const MARGIN = { fallback: DEFAULT_MARGIN_MS, min: 1, max: 900_000 };

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
  const invocations = new Invocations(receiver, marginMs);

  return async (event, context) => {
    const httpEvent = httpEventOf(event);
    return resultOf(httpEvent, await invocations.receive(requestOf(httpEvent), context));
  };
}
