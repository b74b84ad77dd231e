import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { NodeRequest } from "./node-body.js";

/** A response of `node:http`, `node:https` or HTTP/2's compatibility API. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/**
 * Whether a request came over HTTP/2. By its version, as middlewares put a `stream` of their own on the
 * request or the response.
 */
export function isHttp2(req: { readonly httpVersionMajor?: unknown }): boolean {
  return req.httpVersionMajor === 2;
}

/** The response of a request that came over HTTP/2; undefined otherwise. */
export function http2Response(
  req: NodeRequest,
  res: NodeResponse,
): Http2ServerResponse | undefined {
  return isHttp2(req) ? (res as Http2ServerResponse) : undefined;
}

/** Whether nothing can be written any more: asked before the answer, the sender has hung up. */
export function isGone(req: NodeRequest, res: NodeResponse): boolean {
  return http2Response(req, res)?.stream.destroyed ?? res.destroyed;
}

/** Resolves when the response has been handed to the connection, or never will be. */
export function settled(req: NodeRequest, res: NodeResponse): Promise<void> | undefined {
  // The usual answer over HTTP/1 is already with the socket, so nothing has to be awaited.
  if (res.writableFinished || isGone(req, res)) return undefined;
  return new Promise((resolve) => {
    res.once("finish", resolve).once("close", resolve);
  });
}
