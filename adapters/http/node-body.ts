import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Socket } from "node:net";
import type { BodyLimits } from "./body-limits.js";
import { createByteCollector } from "./byte-collector.js";
import { LINGER_MS } from "./linger.js";
import { isHttp2 } from "./node-connection.js";
import type { MaybeLater } from "../../src/common/maybe-promise.js";
import { UnreadableBody } from "../../src/delivery/request.js";

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
const SETTLED = Promise.resolve();

/**
 * The exact body of a request: from its stream, or what a parser left of it. Leaves no listener and
 * no timer behind. `advice` is for the log where only a parsed object is left.
 */
export function readNodeBody(
  req: NodeRequest,
  limits: BodyLimits,
  advice: string,
): MaybeLater<NodeBody> {
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

/** A chunk is a string where somebody has called setEncoding, and null where there is no byte. */
function bytesOf(req: NodeRequest, chunk: unknown): Uint8Array {
  if (typeof chunk === "string") return Buffer.from(chunk, req.readableEncoding ?? "utf8");
  return chunk instanceof Uint8Array ? chunk : EMPTY;
}

/** Reads the rest of an upload and throws it away, until its end or for `LINGER_MS`. Never rejects. */
export function discardNodeBody(req: NodeRequest): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      req.off("end", finish).off("close", finish);
      resolve();
    };
    const timer = setTimeout(finish, LINGER_MS);
    req.on("end", finish).on("close", finish).resume();
    // Nothing is on its way where a parser has read it to its end.
    if (req.readableEnded || req.destroyed) finish();
  });
}

/** The raw body as a parser left it. Never a parsed one: to serialise it again gives other bytes. */
function leftByParser(req: NodeRequest): Uint8Array | string | undefined {
  for (const left of [req.rawBody, req.body]) {
    if (typeof left === "string" || left instanceof Uint8Array) return left;
  }
  return undefined;
}

function wasReset(req: NodeRequest): boolean {
  return isHttp2(req) && (req as Http2ServerRequest).stream.aborted;
}

function readStream(req: NodeRequest, limits: BodyLimits): Promise<NodeBody> {
  return new Promise((resolve) => {
    const received = createByteCollector();
    let bytes = 0;
    let isFinished = false;
    let watch: Watch | undefined;

    const finish = (body: NodeBody): void => {
      isFinished = true;
      watch?.stop();
      req.off("data", onData).off("end", onEnd);
      resolve(body);
    };
    const onData = (data: Uint8Array | string): void => {
      const chunk = bytesOf(req, data);
      bytes += chunk.length;
      if (bytes > limits.maxBodyBytes) {
        finish(new UnreadableBody("body_too_large", bytes));
        return;
      }
      received.add(chunk);
      watch?.refresh();
    };
    const onEnd = (): void => {
      // HTTP/2 ends the stream of a request that was reset.
      if (wasReset(req)) finish(undefined);
      else finish(received.bytes());
    };
    // At once, as somebody else may read the stream too, and its events come once.
    req.on("data", onData).on("end", onEnd);
    // A listener alone does not start a stream that something has paused.
    req.resume();

    const onBroken = (): void => {
      finish(undefined);
    };
    const onTimeout = (): void => {
      finish(new UnreadableBody("body_timeout", bytes));
    };
    // `queueMicrotask` makes an AsyncResource for each call, which takes twice as long.
    void SETTLED.then(() => {
      if (isFinished) return;
      // Nobody need watch over a body that is whole, whoever keeps its end from being told.
      if (isWhole(req, bytes)) finish(received.bytes());
      else if (req.destroyed) onBroken();
      else watch = watchUpload(req, limits, onTimeout, onBroken);
    });
  });
}

/**
 * Whether all of a body has been read, by its Content-Length; without one its end decides. Not by
 * `complete`, which Node sets after the last byte is told, and a serverless shim before the first one.
 * HTTP/2 has no such rule: a request that was reset may have been sent to its last byte.
 */
function isWhole(req: NodeRequest, bytes: number): boolean {
  return !isHttp2(req) && bytes === Number(req.headers["content-length"]);
}

/** Watches over an upload that takes its time. */
interface Watch {
  /** Something has come. */
  readonly refresh: () => void;
  readonly stop: () => void;
}

function watchUpload(
  req: NodeRequest,
  { bodyTimeoutMs, uploadTimeoutMs }: BodyLimits,
  onTimeout: () => void,
  onBroken: () => void,
): Watch {
  const socket = socketOf(req);
  const silence = setTimeout(onTimeout, bodyTimeoutMs);
  const whole = setTimeout(onTimeout, uploadTimeoutMs);
  // Node would answer 400 to an upload that ends early, on which the gateway gives up for good.
  const onEarlyEnd = (): void => {
    if (!req.complete) socket?.destroy();
  };
  req.on("error", onBroken).on("close", onBroken);
  socket?.prependListener("end", onEarlyEnd);
  return {
    refresh() {
      silence.refresh();
    },
    stop() {
      clearTimeout(silence);
      clearTimeout(whole);
      req.off("error", onBroken).off("close", onBroken);
      socket?.off("end", onEarlyEnd);
    },
  };
}

/**
 * None over HTTP/2, where the socket is not one request's, nor where a serverless shim fakes it. By
 * structure, as an adapter that also runs where there is no Node imports this file.
 */
function socketOf(req: NodeRequest): Socket | undefined {
  if (isHttp2(req)) return undefined;
  const socket = req.socket as Partial<Socket> | undefined;
  const isReal =
    typeof socket?.prependListener === "function" && typeof socket.destroy === "function";
  return isReal ? (socket as Socket) : undefined;
}
