import http from "node:http";
import https from "node:https";
import { readResponse, watchForStaleConnection } from "./http-response.js";
import { recordOf, type WireAnswer, type WireRequest } from "./wire.js";

/** Options of `HttpSender`. */
export interface HttpSenderOptions {
  /** Accepts any TLS certificate. */
  readonly skipTlsVerification: boolean;
  /** How many bytes of an answer's body are kept. */
  readonly maxBodyBytes: number;
}

/**
 * An HTTP client for one URL that keeps its connections, as the gateway does. It uses `node:http`, since
 * `fetch` joins repeated headers into one and adds headers of its own.
 */
export class HttpSender {
  readonly #url: URL;
  readonly #maxBodyBytes: number;
  readonly #agent: http.Agent;
  readonly #start: typeof http.request;
  #isClosed = false;

  constructor(url: URL, { skipTlsVerification, maxBodyBytes }: HttpSenderOptions) {
    const { Agent, request } = url.protocol === "https:" ? https : http;
    this.#url = url;
    this.#maxBodyBytes = maxBodyBytes;
    this.#agent = new Agent({ keepAlive: true, rejectUnauthorized: !skipTlsVerification });
    this.#start = request;
  }

  /** Sends a request. Sends it a second time when the first went out on a stale connection. */
  async send(request: WireRequest, signal: AbortSignal): Promise<Omit<WireAnswer, "ms">> {
    const { answer, wasStale } = this.#attempt(request, signal);
    try {
      return await answer;
    } catch (error) {
      // After `close` a second attempt would open a connection that nothing closes.
      if (this.#isClosed || !wasStale(error)) throw error;
    }
    this.#closeIdleConnections();
    return this.#attempt(request, signal).answer;
  }

  /** Closes all connections. */
  close(): void {
    this.#isClosed = true;
    this.#agent.destroy();
  }

  #attempt({ method, headers, body, chunked = false }: WireRequest, signal: AbortSignal) {
    const req = this.#start(this.#url, {
      agent: this.#agent,
      method,
      headers: { ...recordOf(headers), ...framingOf(body, chunked) },
      signal,
    });
    const wasStale = watchForStaleConnection(req);
    const answer = readResponse(req, this.#maxBodyBytes);
    req.end(body);
    return { answer, wasStale };
  }

  /** Idle connections are as old as the stale one. Without them the agent opens a new connection. */
  #closeIdleConnections(): void {
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy();
  }
}

/** How the server finds the end of the body. Without these headers Node declares the length of a chunked body. */
function framingOf(body: Uint8Array | undefined, chunked: boolean): http.OutgoingHttpHeaders {
  if (body === undefined) return {};
  return chunked ? { "transfer-encoding": "chunked" } : { "content-length": body.length };
}
