import type { BodyLimits } from "./body-limits.js";
import { readFetchBody, type FetchBody } from "./fetch-body.js";
import { adapterSideOf } from "../../src/answer/adapter-side.js";
import type { WebhookResponse } from "../../src/answer/answer.js";
import type { WebhookHeaders } from "../../src/delivery/headers.js";
import type { WebhookReceiver } from "../../src/receiver.js";
import { type WebhookRequest, UnreadableBody } from "../../src/delivery/request.js";

const encoder = new TextEncoder();
const NO_BODY = { "content-length": "0" };

/** A request whose body was read. */
export interface FetchRequest extends FetchBody {
  readonly method: string;
  readonly headers: WebhookHeaders;
  /** Whether the sender has hung up. */
  readonly isDisconnected?: () => boolean;
}

/** Reads the body of a `Request` within the limits. */
export async function readFetchRequest(
  request: Request,
  limits: BodyLimits,
  advice: string,
): Promise<FetchRequest> {
  const { method, headers } = request;
  // Read when it is asked: to read it earlier costs time on @hono/node-server.
  const isDisconnected = () => request.signal.aborted;
  return { method, headers, isDisconnected, ...(await readFetchBody(request, limits, advice)) };
}

/** Passes a request on to the receiver when its body was read, and makes a `Response` of the answer. */
export async function answerFetch(
  receiver: WebhookReceiver,
  reading: Promise<FetchRequest>,
  waitUntil: NonNullable<WebhookRequest["waitUntil"]>,
): Promise<Response> {
  const { method, headers, body, isDisconnected, discard } = await reading;
  // The sender is gone. A server still wants a Response, and should anyone read it, it says "again".
  if (body === undefined) return new Response(null, { status: 408 });
  const answer = await receiver.receive({ method, headers, body, waitUntil, isDisconnected });
  const isUnfinished = body instanceof UnreadableBody && body.isUnfinished;
  if (isUnfinished) return closingResponse(answer, discard);
  if (!adapterSideOf(receiver).isDraining()) return completeResponse(answer);
  // For servers over HTTP/1: the next delivery then comes to another process.
  return completeResponse({ ...answer, headers: { ...answer.headers, connection: "close" } });
}

/** A platform's context that holds a request open: of Workers, Netlify and Hono. */
interface ExecutionContext {
  waitUntil(work: Promise<unknown>): void;
}

/** Hands `work` to the first of `contexts` that can hold the request open, if there is one. */
export function waitUntilOn(contexts: readonly unknown[], work: Promise<unknown>): void {
  contexts.find(isExecutionContext)?.waitUntil(work);
}

function isExecutionContext(value: unknown): value is ExecutionContext {
  return typeof (value as Partial<ExecutionContext> | null | undefined)?.waitUntil === "function";
}

/** With headers of its own: @hono/node-server before 2.1.2 writes a Content-Length into what it is given. */
function completeResponse({ status, headers, body }: Omit<WebhookResponse, "outcome">): Response {
  // Not "", which would be given a Content-Type. Without a length a server sends no body in chunks.
  if (body === "") return new Response(null, { status, headers: { ...headers, ...NO_BODY } });
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
