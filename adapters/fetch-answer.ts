import type { FetchBody } from "./fetch-body.js";
import type { WebhookResponse } from "../src/answer.js";
import type { WebhookReceiver } from "../src/receiver.js";
import { UnreadableBody } from "../src/unreadable-body.js";

const encoder = new TextEncoder();

/** Passes a request whose body was read on to the receiver, and makes a `Response` of its answer. */
export async function answerFetch(
  receiver: WebhookReceiver,
  { method, headers }: Request,
  { body, discard }: FetchBody,
): Promise<Response> {
  // The sender is gone. A server still wants a Response, and should anyone read it, it says "again".
  if (body === undefined) return new Response(null, { status: 408 });
  const answer = await receiver.receive({ method, headers, body });
  const isUnfinished = body instanceof UnreadableBody && body.isUnfinished;
  return isUnfinished ? closingResponse(answer, discard) : new Response(answer.body, answer);
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
