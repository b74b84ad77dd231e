import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

/** A request of `node:http`, `node:https` or HTTP/2's compatibility API. A body parser may have read it. */
export type NodeRequest = (IncomingMessage | Http2ServerRequest) & {
  /** The bytes, where Cloud Functions and `verify` hooks keep them. */
  readonly rawBody?: unknown;
  /** Bytes from `express.raw()`, text from `express.text()`, or another parser's result. */
  readonly body?: unknown;
  /** The context of a Lambda invocation, where serverless-http keeps it. */
  readonly apiGateway?: { readonly context?: unknown } | undefined;
};

/** A response of `node:http`, `node:https` or HTTP/2's compatibility API. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/**
 * Whether a request came over HTTP/2. Its version decides, because middlewares put a `stream` of their own
 * on the request or the response.
 */
export function isHttp2(req: { readonly httpVersionMajor?: unknown }): boolean {
  return req.httpVersionMajor === 2;
}

/** The response to a request that came over HTTP/2; undefined otherwise. */
export function http2Response(
  req: NodeRequest,
  res: NodeResponse,
): Http2ServerResponse | undefined {
  return isHttp2(req) ? (res as Http2ServerResponse) : undefined;
}

/** Whether nothing more can be written. Before the answer this means that the sender has hung up. */
export function isGone(req: NodeRequest, res: NodeResponse): boolean {
  return isHttp2(req) ? (res as Http2ServerResponse).stream.destroyed : res.destroyed;
}

/** Resolves when the response has been handed to the connection, or when it never can be. */
export function settled(req: NodeRequest, res: NodeResponse): Promise<void> | undefined {
  // Over HTTP/1 the socket usually has the answer already, so there is nothing to await.
  if (res.writableFinished || isGone(req, res)) return undefined;
  return new Promise((resolve) => res.once("finish", resolve).once("close", resolve));
}
