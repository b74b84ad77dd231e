import http, { type ClientRequest } from "node:http";
import https from "node:https";
import { answerOf } from "./http-answer.js";
import { recordOf, type WireAnswer, type WireRequest } from "./wire.js";

/** What of a sender's client is HTTP. */
export interface HttpSender {
  readonly send: (request: WireRequest, signal: AbortSignal) => Promise<Omit<WireAnswer, "ms">>;
  readonly close: () => void;
}

/**
 * A client of one URL that keeps its connections, as the gateway does. On `node:http`, since `fetch`
 * joins a repeated header into one and writes some headers of its own.
 *
 * A server may close a kept connection at any time, and does not know of a request that is on its way.
 * One that fails so before any byte of an answer is sent once more on a new connection (RFC 9112,
 * section 9.3.1): a delivery may be repeated, since its id says that it is the same.
 */
export function createHttpSender(
  url: URL,
  { skipTlsVerification, maxBodyBytes }: { skipTlsVerification: boolean; maxBodyBytes: number },
): HttpSender {
  const { Agent, request: start } = url.protocol === "https:" ? https : http;
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: !skipTlsVerification });
  let isClosed = false;

  const attempt = (
    { method, headers, body, chunked = false }: WireRequest,
    signal: AbortSignal,
  ) => {
    const length = !chunked && body !== undefined ? { "content-length": body.length } : {};
    const req = start(url, { agent, method, headers: { ...recordOf(headers), ...length }, signal });
    const isUnanswered = watchAnswer(req);
    const answer = answerOf(req, maxBodyBytes);
    req.end(body);
    return { req, answer, isUnanswered };
  };

  return {
    async send(request, signal) {
      const { req, answer, isUnanswered } = attempt(request, signal);
      try {
        return await answer;
      } catch (error) {
        // After `close` it would open a connection that nobody closes.
        if (isClosed || !req.reusedSocket || !isUnanswered() || !isHangUp(error)) throw error;
      }
      closeIdleConnections(agent);
      return attempt(request, signal).answer;
    },

    close: () => {
      isClosed = true;
      agent.destroy();
    },
  };
}

const HANG_UPS: readonly unknown[] = ["ECONNRESET", "EPIPE"];

function isHangUp(error: unknown): boolean {
  return error instanceof Error && "code" in error && HANG_UPS.includes(error.code);
}

/** Whether not one byte has come on the connection since the request was given it. */
function watchAnswer(req: ClientRequest): () => boolean {
  let bytesBefore = 0;
  req.once("socket", ({ bytesRead }) => {
    bytesBefore = bytesRead;
  });
  return () => req.socket?.bytesRead === bytesBefore;
}

/** They are as old as the one that was closed; without them the agent opens a new one. */
function closeIdleConnections({ freeSockets }: http.Agent): void {
  for (const sockets of Object.values(freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}
