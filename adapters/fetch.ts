import { createBodyLimits, type BodyOptions } from "./http/body-limits.js";
import { answerFetch, readFetchRequest, waitUntilOn } from "./http/fetch-answer.js";
import type { WebhookReceiver } from "../src/receiver.js";

/** Options of the Fetch adapter. */
export type FetchHandlerOptions = BodyOptions;

/**
 * A handler of Fetch-API servers: Deno, Bun, workers, and route handlers of many frameworks. What goes
 * on after the answer is given to `waitUntil` of its second or third argument where there is one: the
 * context of Workers (`request, env, ctx`) and Netlify (`request, context`).
 */
export type FetchHandler = (
  request: Request,
  second?: unknown,
  third?: unknown,
) => Promise<Response>;

const ADVICE =
  "Call fetchHandler(receiver) with a request that nothing has read, or read a request.clone() before." +
  " Next route handlers: export const POST = fetchHandler(receiver).";

/**
 * Mounts a receiver on anything that serves the Fetch API:
 * `export default { fetch: fetchHandler(receiver) }`.
 *
 * @throws ConfigurationError for what is no receiver, an unknown option and one out of its bounds.
 */
export function fetchHandler(
  receiver: WebhookReceiver,
  options: FetchHandlerOptions = {},
): FetchHandler {
  const limits = createBodyLimits("fetchHandler", receiver, options);
  return (request, second, third) =>
    answerFetch(receiver, readFetchRequest(request, limits, ADVICE), (work) => {
      waitUntilOn([third, second], work);
    });
}
