import type { FetchRequest } from "./fetch-body.js";
import type { WebhookResponse } from "../../src/answer/answer.js";
import { internalsOf, type MountableReceiver } from "../../src/options/webhook-receiver.js";
import { type WebhookRequest, UnreadableBody } from "../../src/delivery/request.js";

const encoder = new TextEncoder();
const NO_BODY = { "content-length": "0" };

/** Passes a request to the receiver once its body is read, and returns the answer as a `Response`. */
export async function answerFetch(
  receiver: MountableReceiver,
  reading: Promise<FetchRequest>,
  waitUntil: NonNullable<WebhookRequest["waitUntil"]>,
): Promise<Response> {
  const { method, headers, body, isDisconnected, discard } = await reading;
  // The sender has hung up, but the server still expects a Response. To the gateway, 408 means "send
  // again".
  if (body === undefined) return new Response(null, { status: 408 });
  const answer = await receiver.receive({ method, headers, body, waitUntil, isDisconnected });
  const isUnfinished = body instanceof UnreadableBody && body.isUnfinished;
  if (isUnfinished) return closingResponse(answer, discard);
  if (internalsOf(receiver)?.isDraining() !== true) return completeResponse(answer);
  // On a server over HTTP/1 the next delivery then goes to another process.
  return completeResponse({ ...answer, headers: { ...answer.headers, connection: "close" } });
}

/** A platform's context that holds a request open: on Workers, Netlify and Hono. */
interface ExecutionContext {
  waitUntil(work: Promise<unknown>): void;
}

/** Passes `work` to the first of `contexts` that can hold the request open. */
export function waitUntilOn(contexts: readonly unknown[], work: Promise<unknown>): void {
  contexts.find(isExecutionContext)?.waitUntil(work);
}

function isExecutionContext(value: unknown): value is ExecutionContext {
  return typeof (value as Partial<ExecutionContext> | null | undefined)?.waitUntil === "function";
}

/** Copies the headers: @hono/node-server before 2.1.2 writes a Content-Length into the object it gets. */
function completeResponse({ status, headers, body }: Omit<WebhookResponse, "outcome">): Response {
  // `null`, because "" would get a Content-Type. Without a length, servers would send a chunked body.
  if (body === "") return new Response(null, { status, headers: { ...headers, ...NO_BODY } });
  return new Response(body, { status, headers: { ...headers } });
}

/**
 * An answer while the upload goes on. Its Content-Length tells the sender that it is complete. The stream
 * of its body, and with it the connection, ends only when the rest of the upload has been dropped.
 */
function closingResponse(answer: WebhookResponse, discard: FetchRequest["discard"]): Response {
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
