import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { Socket } from "node:net";
import type { BodyLimits } from "./body-limits.js";
import { createByteCollector } from "./byte-collector.js";
import { UnreadableBody } from "../src/unreadable-body.js";

/** A request of `node:http`, `node:https` or HTTP/2's compatibility API, perhaps behind a parser. */
export type NodeRequest = (IncomingMessage | Http2ServerRequest) & {
  /** The bytes, as Cloud Functions and `verify` hooks leave them. */
  readonly rawBody?: unknown;
  /** Bytes of `express.raw()`, text of `express.text()`, or what another parser made of the body. */
  readonly body?: unknown;
};

/** Undefined: the request broke off, so that there is nobody to answer. */
export type NodeBody = Uint8Array | string | UnreadableBody | undefined;

const EMPTY = new Uint8Array(0);

/**
 * The exact body of a request: from its stream, or what a parser left of it. Leaves no listener and
 * no timer behind. `advice` is for the log where only a parsed object is left.
 */
export async function readNodeBody(
  req: NodeRequest,
  limits: BodyLimits,
  advice: string,
): Promise<NodeBody> {
  // Not by `req.body`: Express 4 sets it to {} on a body that nobody has read.
  if (req.readableDidRead) {
    return leftByParser(req) ?? new UnreadableBody("body_consumed", 0, advice);
  }
  if (req.readableEnded) return leftByParser(req) ?? EMPTY;
  if (req.destroyed) return undefined;
  if (Number(req.headers["content-length"] ?? 0) > limits.maxBodyBytes) {
    return new UnreadableBody("body_too_large", 0);
  }
  return readStream(req, limits);
}

/** The raw body as a parser left it. Never a parsed one: to serialise it again gives other bytes. */
function leftByParser(req: NodeRequest): Uint8Array | string | undefined {
  for (const left of [req.rawBody, req.body]) {
    if (typeof left === "string" || left instanceof Uint8Array) return left;
  }
  return undefined;
}

function readStream(req: NodeRequest, limits: BodyLimits): Promise<NodeBody> {
  return new Promise((resolve) => {
    const socket = socketOf(req);
    const received = createByteCollector();
    let bytes = 0;

    const finish = (body: NodeBody): void => {
      clearTimeout(timer);
      req.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken);
      socket?.off("end", onEarlyEnd);
      resolve(body);
    };
    const timer = setTimeout(() => {
      finish(new UnreadableBody("body_timeout", bytes));
    }, limits.bodyTimeoutMs);

    const onData = (data: Uint8Array | string): void => {
      // Strings come where somebody has called setEncoding.
      const chunk =
        typeof data === "string" ? Buffer.from(data, req.readableEncoding ?? "utf8") : data;
      bytes += chunk.length;
      if (bytes > limits.maxBodyBytes) {
        finish(new UnreadableBody("body_too_large", bytes));
        return;
      }
      received.add(chunk);
      timer.refresh();
    };
    const onEnd = (): void => {
      // HTTP/2 ends the stream of a request that was reset.
      if ("stream" in req && req.stream.aborted) finish(undefined);
      else finish(received.bytes());
    };
    const onBroken = (): void => {
      finish(undefined);
    };
    // Node would answer 400 to an upload that ends early, on which the gateway gives up for good.
    const onEarlyEnd = (): void => {
      if (!req.complete) socket?.destroy();
    };
    req.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken);
    socket?.prependListener("end", onEarlyEnd);
    // A listener alone does not start a stream that something has paused.
    req.resume();
  });
}

/** None over HTTP/2, where the socket is not one request's, nor where a serverless shim fakes it. */
function socketOf(req: NodeRequest): Socket | undefined {
  return !("stream" in req) && req.socket instanceof Socket ? req.socket : undefined;
}
