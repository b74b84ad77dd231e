import { wrongCall, type BodyOptions } from "./http/body-limits.js";
import { answerFetch, fetchMount } from "./http/fetch-answer.js";
import { readFetchRequest } from "./http/fetch-body.js";
import type { MountableReceiver } from "../src/options/webhook-receiver.js";

/**
 * A handler for servers of the Fetch API, for every method: Deno, Bun, Workers, and route handlers of many frameworks. Pass
 * on all arguments of the platform, `(request, env, ctx)` on Workers and `(request, context)` on Netlify:
 * work that goes on after the answer is passed to the `waitUntil` of the third or the second argument.
 */
export type FetchHandler = (
  request: Request,
  second?: unknown,
  third?: unknown,
) => Promise<Response>;

const ADVICE =
  "Call fetchHandler with a request that nothing has read, or read a request.clone() before.";

/**
 * Mounts a receiver on a server of the Fetch API. Called with something else than a `Request`, the handler rejects
 * with a `ConfigurationError`.
 *
 * @throws ConfigurationError if `receiver` is not a receiver, for an unknown option and for a value out
 * of bounds.
 * @example
 * ```ts
 * export default { fetch: fetchHandler(receiver) };
 * ```
 */
export function fetchHandler(receiver: MountableReceiver, options: BodyOptions = {}): FetchHandler {
  const mount = fetchMount("fetchHandler", receiver, options);
  return async (request, second, third) => {
    const { headers } = Object(request) as { readonly headers?: Partial<Headers> };
    if (typeof headers?.get !== "function") {
      throw wrongCall("fetchHandler", "a Request of the Fetch API");
    }
    const reading = readFetchRequest(request, mount.limits, ADVICE);
    return answerFetch(mount, reading, () => [third, second]);
  };
}
