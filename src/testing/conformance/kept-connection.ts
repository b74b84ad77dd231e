import http from "node:http";
import https from "node:https";
import { setTimeout as wait } from "node:timers/promises";
import { readResponse, watchForStaleConnection } from "../sending/http-response.js";
import { recordOf, type WireAnswer, type WireRequest } from "../sending/wire.js";
import type { ConformanceSettings } from "./conformance-options.js";

/** How long a client waits for `100 Continue` before it sends the body anyway. */
const CONTINUE_MS = 1_000;

/**
 * An HTTP client with a single connection, which it keeps as long as the server does. When the server has
 * closed the connection, it sends the request once more on a new one (RFC 9112, section 9.3.1).
 */
export class KeptConnection {
  readonly #url: URL;
  readonly #timeoutMs: number;
  readonly #agent: http.Agent;
  readonly #start: typeof http.request;

  constructor(url: URL, { timeoutMs, skipTlsVerification }: ConformanceSettings) {
    const { Agent, request } = url.protocol === "https:" ? https : http;
    this.#url = url;
    this.#timeoutMs = timeoutMs;
    this.#start = request;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: 1,
      rejectUnauthorized: !skipTlsVerification,
    });
  }

  /** Sends a request. With `pieces` the body is sent as chunks of a chunked transfer. */
  async send(request: WireRequest, pieces?: readonly Uint8Array[]): Promise<WireAnswer> {
    const { answer, wasStale } = this.#sendOnce(request, pieces);
    try {
      return await answer;
    } catch (error) {
      if (!wasStale(error)) throw error;
    }
    return this.#sendOnce(request, pieces).answer;
  }

  /** Sends `Expect: 100-continue`, and the body when the server has asked for it. */
  async sendWithExpect(request: WireRequest): Promise<WireAnswer> {
    const { body = new Uint8Array(0) } = request;
    const req = this.#open(request, { "content-length": body.length, expect: "100-continue" });
    const answer = answerTo(req);
    const mayContinue = new Promise((resolve) => req.once("continue", resolve));
    req.flushHeaders();
    await Promise.race([mayContinue, answer, wait(CONTINUE_MS, undefined, { ref: false })]);
    req.end(body);
    return answer;
  }

  /** Declares `missingBytes` more than it sends, then closes the connection. */
  async sendCutBody(request: WireRequest, missingBytes: number): Promise<void> {
    const { body = new Uint8Array(0) } = request;
    const req = this.#open(request, { "content-length": body.length + missingBytes });
    // The server may answer, refuse or do nothing. The receiver must only survive it.
    req.on("error", () => undefined);
    await new Promise((resolve) => {
      req.once("close", resolve).write(body, resolve);
    });
    req.destroy();
  }

  /** Closes the connection. */
  close(): void {
    this.#agent.destroy();
  }

  #sendOnce(request: WireRequest, pieces?: readonly Uint8Array[]) {
    const { body = new Uint8Array(0) } = request;
    const req = this.#open(request, pieces === undefined ? { "content-length": body.length } : {});
    const wasStale = watchForStaleConnection(req);
    const answer = answerTo(req);
    for (const piece of pieces ?? [body]) req.write(piece);
    req.end();
    return { answer, wasStale };
  }

  #open({ method, headers }: WireRequest, extraHeaders: Record<string, string | number>) {
    return this.#start(this.#url, {
      agent: this.#agent,
      method,
      headers: { ...recordOf(headers), ...extraHeaders },
      signal: AbortSignal.timeout(this.#timeoutMs),
    });
  }
}

function answerTo(req: http.ClientRequest): Promise<WireAnswer> {
  const startedAt = performance.now();
  const answer = readResponse(req).then((response) => ({
    ...response,
    ms: performance.now() - startedAt,
  }));
  // The caller awaits it only after the body is written: an earlier rejection must not be unhandled.
  answer.catch(() => undefined);
  return answer;
}
