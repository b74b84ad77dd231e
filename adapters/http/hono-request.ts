import type { BodyLimits } from "./body-limits.js";
import { readFetchRequest, type FetchRequest } from "./fetch-body.js";
import { discardNodeBody, readNodeBody } from "./node-body.js";
import { isGone, type NodeRequest, type NodeResponse } from "./node-connection.js";
import type { WebhookHeaders } from "../../src/delivery/header-values.js";
import { HEADERS } from "../../src/delivery/headers.js";
import { UnreadableBody } from "../../src/delivery/request.js";

/** The part of Hono's `Context` that the adapter uses, by structure. */
export interface HonoContext {
  /** The platform's context. Hono throws if there is none. */
  readonly executionCtx?: unknown;
  /** The platform's bindings. On @hono/node-server they hold Node's request. */
  readonly env?: unknown;
  /** Hono's request. */
  readonly req: {
    readonly raw: Request;
    /** What `c.req.text()` and its siblings have read already. */
    readonly bodyCache: { readonly arrayBuffer?: unknown; readonly text?: unknown };
  };
}

/**
 * Reads the request of a Hono app: from the bytes or text that a middleware has read, from Node's request
 * on @hono/node-server, or from the `Request`.
 */
export function readHonoRequest(
  { env, req }: HonoContext,
  limits: BodyLimits,
  advice: string,
): Promise<FetchRequest> {
  const { raw, bodyCache } = req;
  const isRead = bodyCache.arrayBuffer !== undefined || bodyCache.text !== undefined;
  const behind = isRead || raw.method !== "POST" ? undefined : untouchedIncoming(env, raw);
  const isDisconnected = nodeDisconnection(env) ?? (() => raw.signal.aborted);
  return behind === undefined
    ? readRequest(req, isDisconnected, limits, advice)
    : readIncoming(behind, isDisconnected, limits, advice);
}

/** What the platform has passed with a request: the context of Workers, or that of a Lambda invocation. */
export function honoContexts(c: HonoContext): readonly unknown[] {
  const { lambdaContext, context } = Object(c.env) as Readonly<Record<string, unknown>>;
  try {
    return [c.executionCtx];
  } catch {
    // `hono/aws-lambda` names it in two ways, depending on how the answer is sent.
    return [lambdaContext, context];
  }
}

/** Node's request behind a `Request`, and its headers. */
interface Behind {
  readonly incoming: NodeRequest;
  /** Those of the `Request` if a middleware has read them, since it may have changed them. */
  readonly headers: WebhookHeaders;
}

/** Reads Node's own request: through its `Request` headers and body take longer. */
async function readIncoming(
  { incoming, headers }: Behind,
  isDisconnected: () => boolean,
  limits: BodyLimits,
  advice: string,
): Promise<FetchRequest> {
  const body = await readNodeBody(incoming, limits, advice);
  const isTooLarge = body instanceof UnreadableBody && body.reason === "body_too_large";
  const discard = (): Promise<void> => discardNodeBody(incoming);
  const head = { method: "POST", headers, isDisconnected, bodySource: "wire" } as const;
  return isTooLarge ? { ...head, body, discard } : { ...head, body };
}

/** Reads what a middleware has kept of the body, or the `Request`. */
async function readRequest(
  { raw, bodyCache: { arrayBuffer, text } }: HonoContext["req"],
  isDisconnected: () => boolean,
  limits: BodyLimits,
  advice: string,
): Promise<FetchRequest> {
  // Read the headers before the body: @hono/node-server before 1.15 makes a whole `Request` for them, which
  // fails once the body has been read.
  const { method, headers } = raw;
  const head = { method, headers, isDisconnected, bodySource: "body" } as const;
  try {
    // Never from cached JSON: serializing it again gives other bytes.
    if (arrayBuffer !== undefined) {
      return { ...head, body: new Uint8Array(await (arrayBuffer as Promise<ArrayBuffer>)) };
    }
    if (text !== undefined) return { ...head, body: await (text as Promise<string>) };
  } catch {
    return { ...head, body: undefined };
  }
  return { ...(await readFetchRequest(raw, limits, advice)), isDisconnected };
}

/**
 * Node's request behind a `Request` of @hono/node-server, as long as nothing has read it; undefined on
 * every other runtime. Reading the body through the `Request` and its stream takes 100 µs more.
 *
 * That `Request` is a shell: it keeps Node's request under a symbol, and beside it only strings and
 * `Headers`. If it holds more, a middleware has taken the stream of the body, or has made a clone, which
 * would get no bytes if Node's request were read here.
 */
function untouchedIncoming(env: unknown, request: Request): Behind | undefined {
  const incoming = (env as { readonly incoming?: unknown } | null | undefined)?.incoming;
  // A serverless shim sets rawBody, and its `Request` reads that instead of the stream.
  if (!isNodeRequest(incoming) || incoming.rawBody !== undefined) return undefined;
  // A shim may set rawHeaders only. Before the loop: @hono/node-server before 1.15 makes a whole `Request`
  // for its headers, which takes the stream of the body.
  const isComplete = incoming.headers[HEADERS.id.name.toLowerCase()] !== undefined;
  let headers: WebhookHeaders = isComplete ? incoming.headers : request.headers;
  let isKept = false;
  for (const key of Reflect.ownKeys(request)) {
    // A property by name comes from a middleware, such as a body that it has decompressed.
    if (typeof key === "string") return undefined;
    const value = (request as unknown as Record<symbol, unknown>)[key];
    if (typeof value !== "object" || value === null) continue;
    if (value === incoming) isKept = true;
    else if (value instanceof Headers) headers = value;
    else return undefined;
  }
  return isKept ? { incoming, headers } : undefined;
}

/** Whether the sender has hung up, from Node's response of @hono/node-server. Undefined on other runtimes. */
function nodeDisconnection(env: unknown): (() => boolean) | undefined {
  const { incoming, outgoing } = (env ?? {}) as Readonly<Record<"incoming" | "outgoing", unknown>>;
  if (!isNodeRequest(incoming) || !isNodeResponse(outgoing)) return undefined;
  return () => isGone(incoming, outgoing);
}

function isNodeResponse(value: unknown): value is NodeResponse {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Partial<NodeResponse>).writableFinished === "boolean"
  );
}

/** By structure: `env` may hold anything, on Workers the user's bindings. */
function isNodeRequest(value: unknown): value is NodeRequest {
  const { listenerCount, readableDidRead, headers } = Object(value) as Partial<NodeRequest>;
  return (
    typeof listenerCount === "function" &&
    typeof readableDidRead === "boolean" &&
    typeof headers === "object"
  );
}
