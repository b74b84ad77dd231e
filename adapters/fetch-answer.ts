import type { BodyLimits } from "./body-limits.js";
import { readFetchBody, type FetchBody } from "./fetch-body.js";
import type { WebhookResponse } from "../src/answer.js";
import type { WebhookHeaders } from "../src/headers.js";
import type { WebhookReceiver } from "../src/receiver.js";
import { UnreadableBody } from "../src/unreadable-body.js";

const encoder = new TextEncoder();

/** A request whose body was read. */
export interface FetchRequest extends FetchBody {
  readonly method: string;
  readonly headers: WebhookHeaders;
}

/** Reads the body of a `Request` within the limits. */
export async function readFetchRequest(
  request: Request,
  limits: BodyLimits,
  advice: string,
): Promise<FetchRequest> {
  const { method, headers } = request;
  return { method, headers, ...(await readFetchBody(request, limits, advice)) };
}

/** Passes a request on to the receiver when its body was read, and makes a `Response` of the answer. */
export async function answerFetch(
  receiver: WebhookReceiver,
  reading: Promise<FetchRequest>,
): Promise<Response> {
  const { method, headers, body, discard } = await reading;
  // The sender is gone. A server still wants a Response, and should anyone read it, it says "again".
  if (body === undefined) return new Response(null, { status: 408 });
  const answer = await receiver.receive({ method, headers, body });
  const isUnfinished = body instanceof UnreadableBody && body.isUnfinished;
  return isUnfinished ? closingResponse(answer, discard) : completeResponse(answer);
}

/** With headers of its own: @hono/node-server before 2.1.2 writes a Content-Length into what it is given. */
function completeResponse({ status, headers, body }: WebhookResponse): Response {
  return new Response(body, { status, headers: { ...headers } });
}

/**
 * An answer while the upload goes on: complete for the sender by its Content-Length, while the stream
 * of its body ends, and with it the connection, only when the upload has been thrown away.
 */
function closingResponse(answer: WebhookResponse, discard: FetchBody["discard"]): Response {
  const bytes = encoder.encode(answer.body);
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
