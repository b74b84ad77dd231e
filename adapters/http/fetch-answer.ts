import { bodyLimits, type BodyLimits, type BodyOptions } from "./body-limits.js";
import type { FetchRequest } from "./fetch-body.js";
import { invocationsOf, type Invocations } from "./invocation.js";
import { isOnWorkers } from "../../src/common/runtime.js";
import type { WebhookResponse } from "../../src/answer/answer.js";
import { internalsOf, type MountableReceiver } from "../../src/options/webhook-receiver.js";
import { UnreadableBody } from "../../src/delivery/request.js";

const encoder = new TextEncoder();
const NO_BODY = { "content-length": "0" };

/** A receiver mounted on a server of the Fetch API. */
export interface FetchMount {
  readonly receiver: MountableReceiver;
  readonly limits: BodyLimits;
  /** Undefined elsewhere than on AWS Lambda. */
  readonly invocations: Invocations | undefined;
}

/** Throws `ConfigurationError` as `bodyLimits` does. */
export function fetchMount(
  adapter: string,
  receiver: MountableReceiver,
  options: BodyOptions,
): FetchMount {
  const limits = bodyLimits(adapter, receiver, options);
  return { receiver, limits, invocations: invocationsOf(receiver) };
}

/**
 * Passes a request to the receiver once its body is read, and returns the answer as a `Response`. `contexts`: what
 * the platform has passed with the request.
 */
export async function answerFetch(
  { receiver, invocations }: FetchMount,
  reading: Promise<FetchRequest>,
  contexts: () => readonly unknown[],
): Promise<Response> {
  const { method, headers, body, isDisconnected, bodySource, discard } = await reading;
  // The sender has hung up, but the server still expects a Response. To the gateway, 408 means "send
  // again".
  if (body === undefined) return new Response(null, { status: 408 });
  const held = () => findContext(contexts(), "waitUntil");
  // Elsewhere read on demand: where a context is missing, Hono throws, and that takes time.
  const isCutOff = isOnWorkers() && held() === undefined;
  const waitUntil = isCutOff ? undefined : (work: Promise<unknown>) => held()?.waitUntil(work);
  const request = { method, headers, body, waitUntil, isDisconnected, bodySource };
  const answer = await (invocations === undefined || held()
    ? receiver.receive(request)
    : invocations.receive(request, findContext(contexts(), "getRemainingTimeInMillis")));
  const isUnfinished = body instanceof UnreadableBody && body.isUnfinished;
  if (isUnfinished) return closingResponse(answer, discard);
  if (internalsOf(receiver)?.isDraining() !== true) return completeResponse(answer);
  // On a server over HTTP/1 the next delivery then goes to another process.
  return completeResponse({ ...answer, headers: { ...answer.headers, connection: "close" } });
}

/** The first of `contexts` with a method: `waitUntil` is of Workers, Netlify and Hono. */
function findContext<Method extends string>(contexts: readonly unknown[], method: Method) {
  return contexts.find(
    (value): value is Readonly<Record<Method, (work: Promise<unknown>) => unknown>> =>
      typeof (value as Record<string, unknown> | null | undefined)?.[method] === "function",
  );
}

/** Copies the headers: @hono/node-server before 2.1.2 writes a Content-Length into the object it gets. */
function completeResponse({ status, headers, body }: Omit<WebhookResponse, "outcome">): Response {
  // `null`, because "" would get a Content-Type. Without a length, servers would send a chunked body.
  // 204 has neither (RFC 9110, section 8.6).
  const framing = status === 204 ? {} : NO_BODY;
  if (body === "") return new Response(null, { status, headers: { ...headers, ...framing } });
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
