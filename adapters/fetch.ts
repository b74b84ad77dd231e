import { checkBodyTimeout, type BodyTimeoutOption } from "./body-timeout.js";
import { readFetchBody, type FetchBody } from "./fetch-body.js";
import type { WebhookResponse } from "../src/answer.js";
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
  const limits = {
    maxBodyBytes: receiver.maxBodyBytes,
    bodyTimeoutMs: checkBodyTimeout(options.bodyTimeoutMs),
  };
  return async (request) => {
    if (request.method !== "POST") return receiveFetch(receiver, request, { body: EMPTY });
    return receiveFetch(receiver, request, await readFetchBody(request, limits, ADVICE));
  };
}

const EMPTY = new Uint8Array(0);

/** Passes a request whose body was read on to the receiver. */
export async function receiveFetch(
  receiver: WebhookReceiver,
  { method, headers }: Request,
  { body, discard }: FetchBody,
): Promise<Response> {
  // The sender is gone. A server still wants a Response, and should anyone read it, it says "again".
  if (body === undefined) return new Response(null, { status: 408 });
  const answer = await receiver.receive({ method, headers, body });
  const isUnread = answer.outcome === "body_too_large" || answer.outcome === "body_timeout";
  if (!isUnread) return new Response(answer.body, answer);
  return closingResponse(answer, discard);
}

/**
 * An answer while the upload goes on: complete for the sender by its Content-Length, while the stream
 * of its body ends, and with it the connection, only when the upload has been thrown away.
 */
function closingResponse(answer: WebhookResponse, discard: FetchBody["discard"]): Response {
  const bytes = new TextEncoder().encode(answer.body);
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(bytes);
      await discard?.();
      controller.close();
    },
  });
  return new Response(body, {
    status: answer.status,
    headers: { ...answer.headers, connection: "close", "content-length": String(bytes.length) },
  });
}
