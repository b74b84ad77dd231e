import type { NodeRequest } from "./node-body.js";
import { isGone, type NodeResponse } from "./node-connection.js";

/**
 * The request of Node that a `Request` of @hono/node-server stands for, as long as nothing has been made
 * of it; undefined on every other runtime. Read through a `Request` and its stream, a body takes 100 µs
 * more.
 *
 * That `Request` is a shell, which keeps Node's request under a symbol, and beside it only texts and
 * `Headers`. Where there is more, a middleware has had the body's stream, or a clone that would starve.
 */
export function untouchedIncoming(env: unknown, request: Request): NodeRequest | undefined {
  const incoming = (env as { readonly incoming?: unknown } | null | undefined)?.incoming;
  if (!isNodeRequest(incoming) || !isShellOf(request, incoming)) return undefined;
  // A serverless shim's: its `Request` takes the bytes that stand there in place of the stream.
  return incoming.rawBody === undefined ? incoming : undefined;
}

/** Whether the sender has hung up, by Node's response of @hono/node-server. Undefined on other runtimes. */
export function nodeDisconnection(env: unknown): (() => boolean) | undefined {
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

/** By structure, since `env` may hold anything: on workers it has what the user binds. */
function isNodeRequest(value: unknown): value is NodeRequest {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Partial<NodeRequest>).listenerCount === "function" &&
    typeof (value as Partial<NodeRequest>).readableDidRead === "boolean"
  );
}

function isShellOf(request: Request, incoming: NodeRequest): boolean {
  let isKept = false;
  for (const key of Reflect.ownKeys(request)) {
    // Something put on it by name, such as a body that a middleware has unpacked.
    if (typeof key === "string") return false;
    const value = (request as unknown as Record<symbol, unknown>)[key];
    if (value === incoming) isKept = true;
    else if (!isHarmless(value)) return false;
  }
  return isKept;
}

function isHarmless(value: unknown): boolean {
  return typeof value !== "object" || value === null || value instanceof Headers;
}
