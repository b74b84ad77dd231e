import http from "node:http";
import https from "node:https";
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

  const send: HttpSender["send"] = ({ method, headers, body, chunked = false }, signal) =>
    new Promise((resolve, reject) => {
      const length = !chunked && body !== undefined ? { "content-length": body.length } : {};
      const req = start(url, {
        agent,
        method,
        headers: { ...recordOf(headers), ...length },
        signal,
      });
      req.on("response", (res) => {
        // A server that refuses an upload closes the connection, perhaps while it is being written.
        req.off("error", reject).on("error", () => undefined);
        const chunks: Buffer[] = [];
        res.on("data", (chunk: Buffer) => chunks.push(chunk));
        res.on("error", reject);
        res.on("end", () => {
          const received = Object.entries(res.headers).map(
            ([name, value]) => [name, String(value)] as const,
          );
          resolve({
            status: res.statusCode ?? 0,
            headers: Object.fromEntries(received),
            body: Buffer.concat(chunks).toString(),
          });
        });
      });
      req.on("error", reject);
      req.end(body);
    });

  return {
    send,
    close: () => {
      agent.destroy();
    },
  };
}
