import type { OutgoingHttpHeaders } from "node:http";
import type { Writable } from "node:stream";
import type { WebhookResponse } from "../../src/answer/answer.js";
import { discardNodeBody } from "./node-body.js";
import { http2Response, isGone, type NodeRequest, type NodeResponse } from "./node-connection.js";

/** An answer of the receiver, or of an app that `listen` forwards to, whose body may be any bytes. */
export interface WritableAnswer extends Pick<WebhookResponse, "status" | "headers"> {
  readonly body: string | Uint8Array;
}

/**
 * Whether the response is still unused: no other code, such as a time-out middleware, has begun an answer.
 */
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
  // A body that other code has read in part would block the connection.
  if (!req.readableEnded) req.resume();
}

/** Writes the answer of a draining receiver: the sender's next request then goes to another process. */
export function writeLastAnswer(req: NodeRequest, res: NodeResponse, answer: WritableAnswer): void {
  const http2 = http2Response(req, res);
  writeAnswer(req, res, answer, http2 === undefined ? { connection: "close" } : undefined);
  // Sends GOAWAY. Open streams are still completed.
  http2?.stream.session?.close();
}

/**
 * Writes the answer to a request whose upload goes on or has stalled, and closes the connection. Resolves
 * when the answer is written and the rest of the upload has been dropped.
 */
export async function writeAnswerAndClose(
  req: NodeRequest,
  res: NodeResponse,
  answer: WebhookResponse,
): Promise<void> {
  if (!isOurs(res) || isGone(req, res)) return;
  const http2 = http2Response(req, res);
  writeHead(res, answer, http2 === undefined ? { connection: "close" } : undefined);
  const body: Writable = res;
  // The Content-Length tells the sender that the answer is complete. Only `end` closes the connection.
  body.write(answer.body);
  // A stalled upload has nothing to drop.
  if (answer.outcome !== "body_timeout") await discardNodeBody(req);
  // Other streams share an HTTP/2 connection, so only this one is closed.
  http2?.stream.once("finish", () => http2.stream.close());
  // No callback: the `end(chunk, encoding)` of a middleware would take it for the chunk.
  body.end();
}

function writeHead(res: NodeResponse, answer: WritableAnswer, more?: OutgoingHttpHeaders): void {
  const { status, headers, body } = answer;
  // 204 has no Content-Length (RFC 9110, section 8.6).
  const framing = status === 204 ? {} : { "content-length": Buffer.byteLength(body) };
  // A new object for each response: middlewares write into it.
  res.writeHead(status, { ...headers, ...framing, ...more });
}
