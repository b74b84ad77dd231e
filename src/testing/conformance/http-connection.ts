import http from "node:http";
import https from "node:https";
import { setTimeout as wait } from "node:timers/promises";
import { answerOf } from "../sending/http-answer.js";
import { watchConnection } from "../sending/stale-connection.js";
import { recordOf, type WireAnswer, type WireRequest } from "../sending/wire.js";
import type { ConformanceSettings } from "./conformance-options.js";

/** How long a sender waits for `100 Continue` before it sends the body all the same. */
const CONTINUE_MS = 1_000;

/**
 * A client with one connection at a time, which it uses again wherever the server has kept it. Where the
 * server turns out to have closed it, a request is sent once more on a new one (RFC 9112, section 9.3.1).
 */
export interface HttpConnection {
  /** `pieces`: the body as the chunks of a chunked transfer. */
  readonly send: (request: WireRequest, pieces?: readonly Uint8Array[]) => Promise<WireAnswer>;
  /** Sends the body when the server has asked for it. */
  readonly sendExpecting: (request: WireRequest) => Promise<WireAnswer>;
  /** Declares more bytes than it sends, and ends the connection once they are on their way. */
  readonly cut: (request: WireRequest, missingBytes: number) => Promise<void>;
  readonly close: () => void;
}

/** Opens one to the target. */
export function openHttpConnection(
  url: URL,
  { timeoutMs, skipTlsVerification }: ConformanceSettings,
): HttpConnection {
  const { Agent, request: start } = url.protocol === "https:" ? https : http;
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    rejectUnauthorized: !skipTlsVerification,
  });
  const open = ({ method, headers }: WireRequest, more: Record<string, string | number> = {}) =>
    start(url, {
      agent,
      method,
      headers: { ...recordOf(headers), ...more },
      signal: AbortSignal.timeout(timeoutMs),
    });

  const sendOnce = (request: WireRequest, pieces?: readonly Uint8Array[]) => {
    const { body = new Uint8Array(0) } = request;
    const req = open(request, pieces === undefined ? { "content-length": body.length } : {});
    const wasStale = watchConnection(req);
    const answer = answerTo(req);
    for (const piece of pieces ?? [body]) req.write(piece);
    req.end();
    return { answer, wasStale };
  };

  return {
    async send(request, pieces) {
      const { answer, wasStale } = sendOnce(request, pieces);
      try {
        return await answer;
      } catch (error) {
        if (!wasStale(error)) throw error;
      }
      return sendOnce(request, pieces).answer;
    },

    async sendExpecting(request) {
      const { body = new Uint8Array(0) } = request;
      const req = open(request, { "content-length": body.length, expect: "100-continue" });
      const answer = answerTo(req);
      const asked = new Promise((resolve) => req.once("continue", resolve));
      req.flushHeaders();
      await Promise.race([asked, answer, wait(CONTINUE_MS, undefined, { ref: false })]);
      req.end(body);
      return answer;
    },

    async cut(request, missingBytes) {
      const { body = new Uint8Array(0) } = request;
      const req = open(request, { "content-length": body.length + missingBytes });
      // It may be answered at once, refused, or neither: it is only to be survived.
      req.on("error", () => undefined);
      await new Promise((resolve) => {
        req.once("close", resolve).write(body, resolve);
      });
      req.destroy();
    },

    close: () => {
      agent.destroy();
    },
  };
}

function answerTo(req: http.ClientRequest): Promise<WireAnswer> {
  const startedAt = performance.now();
  const answer = answerOf(req).then((whole) => ({ ...whole, ms: performance.now() - startedAt }));
  // Awaited only after the body has been written.
  answer.catch(() => undefined);
  return answer;
}
