import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { Writable } from "node:stream";
import type { WebhookResponse } from "../src/answer.js";
import { discardNodeBody, type NodeRequest } from "./node-body.js";

/** A response of `node:http`, `node:https` or HTTP/2's compatibility API. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** An answer of ours, or that of an app behind, which may be any bytes. */
export interface WritableAnswer extends Pick<WebhookResponse, "status" | "headers"> {
  readonly body: string | Uint8Array;
}

/** Writes the answer to a request whose body was read, and keeps the connection. */
export function writeAnswer(req: NodeRequest, res: NodeResponse, answer: WritableAnswer): void {
  if (!canAnswer(res)) return;
  writeHead(res, answer);
  res.end(answer.body);
  // The connection would be stuck behind a body that something has read in part and left.
  if (!req.readableEnded) req.resume();
}

/** Writes the answer to a request whose upload goes on, or has stalled, and closes the connection. */
export function writeAnswerAndClose(
  req: NodeRequest,
  res: NodeResponse,
  answer: WebhookResponse,
): void {
  if (!canAnswer(res)) return;
  writeHead(res, answer, isHttp2(res) ? undefined : { connection: "close" });
  const body: Writable = res;
  // Complete for the sender by its Content-Length, while the end, which closes, waits.
  body.write(answer.body);
  const finish = (): void => {
    // Other streams share an HTTP/2 connection, so only this one is closed.
    if (isHttp2(res)) {
      const { stream } = res;
      stream.once("finish", () => {
        stream.close();
      });
    }
    // With no argument: a middleware's own `end(chunk, encoding)` would take a callback for the chunk.
    body.end();
  };
  // Nothing is on its way where the upload has stalled.
  if (answer.outcome === "body_timeout") finish();
  else {
    void discardNodeBody(req)
      .then(finish)
      // A middleware's own `end` may throw, and nobody above hears of it any more.
      .catch(() => body.destroy());
  }
}

/** Somebody else may have answered, such as a time-out middleware, and the sender may be gone. */
function canAnswer(res: NodeResponse): boolean {
  return !res.headersSent && !res.writableEnded && !res.destroyed;
}

function isHttp2(res: NodeResponse): res is Http2ServerResponse {
  return "stream" in res;
}

function writeHead(res: NodeResponse, answer: WritableAnswer, more?: OutgoingHttpHeaders): void {
  const length = Buffer.byteLength(answer.body);
  // An object of its own for each response: middlewares write into it.
  res.writeHead(answer.status, { ...answer.headers, "content-length": length, ...more });
}
