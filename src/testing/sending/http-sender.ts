import http from "node:http";
import https from "node:https";
import { answerOf } from "./http-answer.js";
import { watchConnection } from "./stale-connection.js";
import { recordOf, type WireAnswer, type WireRequest } from "./wire.js";

/** What of a sender's client is HTTP. */
export interface HttpSender {
  readonly send: (request: WireRequest, signal: AbortSignal) => Promise<Omit<WireAnswer, "ms">>;
  readonly close: () => void;
}

/**
 * A client of one URL that keeps its connections, as the gateway does. On `node:http`, since `fetch`
 * joins a repeated header into one and writes some headers of its own.
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
    const wasStale = watchConnection(req);
    const answer = answerOf(req, maxBodyBytes);
    req.end(body);
    return { answer, wasStale };
  };

  return {
    async send(request, signal) {
      const { answer, wasStale } = attempt(request, signal);
      try {
        return await answer;
      } catch (error) {
        // After `close` it would open a connection that nobody closes.
        if (isClosed || !wasStale(error)) throw error;
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

/** They are as old as the one that was closed; without them the agent opens a new one. */
function closeIdleConnections({ freeSockets }: http.Agent): void {
  for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
}
