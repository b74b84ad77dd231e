import type { OutgoingHttpHeaders } from "node:http";
import type { Writable } from "node:stream";
import type { WebhookResponse } from "../../src/answer/answer.js";
import { discardNodeBody, type NodeRequest } from "./node-body.js";
import { http2Response, isGone, type NodeResponse } from "./node-connection.js";

/** An answer of ours, or that of an app behind, which may be any bytes. */
export interface WritableAnswer extends Pick<WebhookResponse, "status" | "headers"> {
  readonly body: string | Uint8Array;
}

/** Whether nothing else has answered, such as a time-out middleware. */
export function isOurs(res: NodeResponse): boolean {
  return !res.headersSent && !res.writableEnded;
}

/** Writes the answer to a request whose body was read, and keeps the connection. */
export function writeAnswer(
  req: NodeRequest,
  res: NodeResponse,
  answer: WritableAnswer,
  more?: OutgoingHttpHeaders,
): void {
  if (!isOurs(res) || isGone(req, res)) return;
  writeHead(res, answer, more);
  res.end(answer.body);
  // The connection would be stuck behind a body that something has read in part and left.
  if (!req.readableEnded) req.resume();
}

/** Writes the answer of a receiver that drains: the sender's next request then comes to another process. */
export function writeLastAnswer(req: NodeRequest, res: NodeResponse, answer: WritableAnswer): void {
  const over2 = http2Response(req, res);
  writeAnswer(req, res, answer, over2 === undefined ? { connection: "close" } : undefined);
  // GOAWAY: the streams that are open go on to their ends.
  over2?.stream.session?.close();
}

/**
 * Writes the answer to a request whose upload goes on, or has stalled, and closes the connection.
 * Resolves when it is written, and the rest of the upload thrown away.
 */
export async function writeAnswerAndClose(
  req: NodeRequest,
  res: NodeResponse,
  answer: WebhookResponse,
): Promise<void> {
  if (!isOurs(res) || isGone(req, res)) return;
  const over2 = http2Response(req, res);
  writeHead(res, answer, over2 === undefined ? { connection: "close" } : undefined);
  const body: Writable = res;
  // Complete for the sender by its Content-Length, while the end, which closes, waits.
  body.write(answer.body);
  // Nothing is on its way where the upload has stalled.
  if (answer.outcome !== "body_timeout") await discardNodeBody(req);
  // Other streams share an HTTP/2 connection, so only this one is closed.
  over2?.stream.once("finish", () => {
    over2.stream.close();
  });
  // With no argument: a middleware's own `end(chunk, encoding)` would take a callback for the chunk.
  body.end();
}

function writeHead(res: NodeResponse, answer: WritableAnswer, more?: OutgoingHttpHeaders): void {
  const length = Buffer.byteLength(answer.body);
  // An object of its own for each response: middlewares write into it.
  res.writeHead(answer.status, { ...answer.headers, "content-length": length, ...more });
}
