import type { Http2ServerRequest } from "node:http2";
import type { Socket } from "node:net";
import { LINGER_MS, type BodyLimits } from "./body-limits.js";
import { isHttp2, type NodeRequest } from "./node-connection.js";
import { UploadBuffer } from "./upload-buffer.js";
import { UnreadableBody } from "../../src/delivery/request.js";

/**
 * The body of a request: its bytes or text, or the reason why there is none. Undefined if the sender has
 * hung up: there is no one to answer.
 */
export type NodeBody = Uint8Array | string | UnreadableBody | undefined;

const EMPTY = new Uint8Array(0);
const SETTLED = Promise.resolve();

/**
 * Reads the exact body of a request from its stream. If a body parser has read the stream, takes bytes or
 * text from `req.rawBody` or `req.body`. It never takes a parsed object: serializing it again gives other
 * bytes, and the signature fails.
 *
 * Pass the result to `receiver.receive({ body })`, unless it is undefined. If only a parsed object is
 * left, the log gives `advice`, a sentence that says how to mount your adapter. Never rejects, and leaves
 * no listener and no timer behind.
 */
export function readNodeBody(
  req: NodeRequest,
  limits: BodyLimits,
  advice?: string,
): NodeBody | Promise<NodeBody> {
  // Not by `req.body`: Express 4 sets it to {} on a body that is still unread.
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

/**
 * Reads the rest of an upload and drops it, until its end or for 2 seconds. Call it before you close the
 * connection of a body that `isUnfinished`: closing a socket with unread data resets it, and the reset can
 * destroy the answer before the sender has read it. Never rejects.
 */
export function discardNodeBody(req: NodeRequest): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      req.off("end", finish).off("close", finish);
      resolve();
    };
    const timer = setTimeout(finish, LINGER_MS);
    req.on("end", finish).on("close", finish).resume();
    // No event follows if a body parser has read to the end.
    if (req.readableEnded || req.destroyed) finish();
  });
}

function leftByParser(req: NodeRequest): Uint8Array | string | undefined {
  for (const left of [req.rawBody, req.body]) {
    if (typeof left === "string" || left instanceof Uint8Array) return left;
  }
  return undefined;
}

function readStream(req: NodeRequest, limits: BodyLimits): Promise<NodeBody> {
  return new Promise((resolve) => {
    const received = new UploadBuffer();
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
      const chunk = data instanceof Uint8Array ? data : bytesOf(req, data);
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
    // Listen at once: other code may read the stream too, and its events come only once.
    req.on("data", onData).on("end", onEnd);
    // A listener alone does not start a paused stream.
    req.resume();

    const onBroken = (): void => finish(undefined);
    const onTimeout = (): void => finish(new UnreadableBody("body_timeout", bytes));
    // Not `queueMicrotask`: it makes an AsyncResource for each call, which takes twice as long.
    void SETTLED.then(() => {
      if (isFinished) return;
      // Not by `req.complete`: Node sets it after the event of the last byte, and a serverless shim before
      // the first one. Not over HTTP/2: a request that was reset may have been sent to its last byte.
      const isWhole = !isHttp2(req) && bytes === Number(req.headers["content-length"]);
      // The body is complete; no need to wait for `end`, which other code may hold back.
      if (isWhole) finish(received.bytes());
      else if (req.destroyed) onBroken();
      else watch = watchUpload(req, limits, onTimeout, onBroken);
    });
  });
}

/** Of a string, after `setEncoding`, or of null, if a middleware emits `data` without bytes. */
function bytesOf(req: NodeRequest, chunk: unknown): Uint8Array {
  return typeof chunk === "string" ? Buffer.from(chunk, req.readableEncoding ?? "utf8") : EMPTY;
}

function wasReset(req: NodeRequest): boolean {
  return isHttp2(req) && (req as Http2ServerRequest).stream.aborted;
}

/** The timers and listeners of an upload that does not arrive at once. */
interface Watch {
  /** Restarts the timer of silence. */
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
  let reading: ReturnType<typeof setImmediate> | undefined;
  // A process that stood still runs its timers before it reads what has arrived meanwhile.
  const silence = setTimeout(() => (reading = setImmediate(onTimeout)), bodyTimeoutMs);
  const whole = setTimeout(onTimeout, uploadTimeoutMs);
  // Node answers 400 to an upload that ends early, and on 400 the gateway gives up for good.
  const onEarlyEnd = (): void => {
    if (!req.complete) socket?.destroy();
  };
  req.on("error", onBroken).on("close", onBroken);
  socket?.prependListener("end", onEarlyEnd);
  return {
    refresh() {
      clearImmediate(reading);
      silence.refresh();
    },
    stop() {
      clearTimeout(silence);
      clearImmediate(reading);
      clearTimeout(whole);
      req.off("error", onBroken).off("close", onBroken);
      socket?.off("end", onEarlyEnd);
    },
  };
}

/**
 * The socket of one request: none over HTTP/2, where requests share it, and none where a serverless shim
 * fakes it. By structure, because the Hono adapter imports this file on runtimes without `node:net`.
 */
function socketOf(req: NodeRequest): Socket | undefined {
  if (isHttp2(req)) return undefined;
  const socket = req.socket as Partial<Socket> | undefined;
  const isReal =
    typeof socket?.prependListener === "function" && typeof socket.destroy === "function";
  return isReal ? (socket as Socket) : undefined;
}
