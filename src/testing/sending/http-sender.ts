import http from "node:http";
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
 */
export function createHttpSender(url: URL, skipTlsVerification: boolean): HttpSender {
  const { Agent, request: start } = url.protocol === "https:" ? https : http;
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: !skipTlsVerification });

  const send: HttpSender["send"] = ({ method, headers, body, chunked = false }, signal) => {
    const length = !chunked && body !== undefined ? { "content-length": body.length } : {};
    const req = start(url, { agent, method, headers: { ...recordOf(headers), ...length }, signal });
    const answer = answerOf(req);
    req.end(body);
    return answer;
  };

  return {
    send,
    close: () => {
      agent.destroy();
    },
  };
}
