import http from "node:http";
import https from "node:https";
import { watchForStaleConnection } from "./http-response.js";
import { recordOf, type WireRequest } from "./wire.js";

/**
 * Requests to one URL over kept connections. It uses `node:http`, since `fetch` joins repeated headers into one
 * and adds headers of its own.
 */
export class HttpClient {
  readonly #url: URL;
  readonly #agent: http.Agent;
  readonly #start: typeof http.request;
  #isClosed = false;

  constructor(url: URL, skipTlsVerification: boolean, maxSockets = Infinity) {
    const { Agent, request } = url.protocol === "https:" ? https : http;
    this.#url = url;
    this.#start = request;
    const rejectUnauthorized = !skipTlsVerification;
    this.#agent = new Agent({ keepAlive: true, maxSockets, rejectUnauthorized });
  }

  /** Starts a request. Its body has still to be written. */
  open({ method, headers }: WireRequest, framing: http.OutgoingHttpHeaders, signal: AbortSignal) {
    const all = { ...recordOf(headers), ...framing };
    return this.#start(this.#url, { agent: this.#agent, method, headers: all, signal });
  }

  /** Makes a request, and a second time when the first went out on a stale connection. */
  async send<Answer>(start: () => { req: http.ClientRequest; answer: Promise<Answer> }) {
    const { req, answer } = start();
    const wasStale = watchForStaleConnection(req);
    try {
      return await answer;
    } catch (error) {
      // After `close` a second attempt would open a connection that nothing closes.
      if (this.#isClosed || !wasStale(error)) throw error;
    }
    // Idle connections are as old as the stale one. Without them the agent opens a new connection.
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy();
    return start().answer;
  }

  /** Closes all connections. */
  close(): void {
    this.#isClosed = true;
    this.#agent.destroy();
  }
}
