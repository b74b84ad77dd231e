import http from "node:http";
import https from "node:https";
import { recordOf, type HeaderLine } from "../../kit/sending/wire.js";

/** The longest answer that is forwarded. */
const MAX_ANSWER_BYTES = 1_048_576;

/** The answer of an app. */
export interface AppAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** The exact bytes. They need not be text. */
  readonly body: Uint8Array;
}

/** Options of `AppClient`. */
export interface AppClientOptions {
  readonly timeoutMs: number;
  readonly skipTlsVerification: boolean;
}

/**
 * Sends requests to one app. It keeps the bytes of an answer; the sender of the testing kit decodes them as
 * text.
 */
export class AppClient {
  readonly #url: URL;
  readonly #timeoutMs: number;
  readonly #agent: http.Agent;

  constructor(url: URL, { timeoutMs, skipTlsVerification }: AppClientOptions) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
    const { Agent } = protocolOf(url);
    // No idle connection is reused: the app could close it while a delivery is on its way.
    this.#agent = new Agent({
      keepAlive: true,
      maxFreeSockets: 0,
      rejectUnauthorized: !skipTlsVerification,
    });
  }

  /** Rejects when the answer is missing, incomplete or too long. */
  send(lines: readonly HeaderLine[], body: Uint8Array): Promise<AppAnswer> {
    return new Promise((resolve, reject) => {
      const headers = { ...recordOf(lines), "content-length": body.length };
      const { request } = protocolOf(this.#url);
      const req = request(this.#url, { agent: this.#agent, method: "POST", headers });
      const timer = setTimeout(() => {
        reject(new Error(`no answer within ${this.#timeoutMs} ms`));
        req.destroy();
      }, this.#timeoutMs);
      req.on("error", reject).on("close", () => {
        clearTimeout(timer);
      });
      req.on("response", (res) => {
        // An app that refuses an upload may close the connection while the body is still being written.
        req.off("error", reject).on("error", () => undefined);
        readAll(res).then(resolve, reject);
      });
      req.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

function protocolOf({ protocol }: URL): typeof http | typeof https {
  return protocol === "https:" ? https : http;
}

async function readAll(res: http.IncomingMessage): Promise<AppAnswer> {
  const { statusCode: status = 0, headers } = res;
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of res as AsyncIterable<Buffer>) {
    bytes += piece.length;
    // A truncated answer would be a different answer.
    if (bytes > MAX_ANSWER_BYTES) {
      throw new Error(`its answer is longer than ${MAX_ANSWER_BYTES} bytes`);
    }
    pieces.push(piece);
  }
  return { status, headers, body: Buffer.concat(pieces) };
}
