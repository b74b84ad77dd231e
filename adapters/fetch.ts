import { createBodyLimits, type BodyTimeoutOption } from "./body-limits.js";
import { answerFetch, readFetchRequest } from "./fetch-answer.js";
import type { WebhookReceiver } from "../src/receiver.js";

/** Options of the Fetch adapter. */
export type FetchHandlerOptions = BodyTimeoutOption;

/** A handler of Fetch-API servers: Deno, Bun, workers, and route handlers of many frameworks. */
export type FetchHandler = (request: Request) => Promise<Response>;

const ADVICE =
  "Call fetchHandler(receiver) with a request that nothing has read, or read a request.clone() before.";

/**
 * Mounts a receiver on anything that serves the Fetch API:
 * `export default { fetch: fetchHandler(receiver) }`.
 *
 * @throws ConfigurationError for an option out of its bounds.
 */
export function fetchHandler(
  receiver: WebhookReceiver,
  options: FetchHandlerOptions = {},
): FetchHandler {
  const limits = createBodyLimits(receiver, options);
  return (request) => answerFetch(receiver, readFetchRequest(request, limits, ADVICE));
}
