import http from "node:http";
import https from "node:https";
import { recordOf, type HeaderLine } from "../../testing/sending/wire.js";

/** The longest answer that is passed on. */
const MAX_ANSWER_BYTES = 1_048_576;

/** What an app answered. */
export interface AppAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** The exact bytes: they need not be UTF-8, nor text at all. */
  readonly body: Uint8Array;
}

/** Asks one app. */
export interface AppClient {
  /** Rejects where no answer comes, not all of it, or more than is passed on. */
  readonly ask: (headers: readonly HeaderLine[], body: Uint8Array) => Promise<AppAnswer>;
  readonly close: () => void;
}

/** Makes a client. Not the sender of the testing kit, which reads an answer as text, to judge it. */
export function createAppClient(
  url: URL,
  options: { readonly timeoutMs: number; readonly skipTlsVerification: boolean },
): AppClient {
  const { Agent, request } = url.protocol === "https:" ? https : http;
  // A kept connection may have been closed by the app while a delivery is on its way.
  const agent = new Agent({
    keepAlive: true,
    maxFreeSockets: 0,
    rejectUnauthorized: !options.skipTlsVerification,
  });
  return {
    ask: (lines, body) =>
      new Promise((resolve, reject) => {
        const headers = { ...recordOf(lines), "content-length": body.length };
        const req = request(url, { agent, method: "POST", headers });
        const timer = setTimeout(() => {
          reject(new Error(`no answer within ${options.timeoutMs} ms`));
          req.destroy();
        }, options.timeoutMs);
        req.on("error", reject).on("close", () => {
          clearTimeout(timer);
        });
        req.on("response", (res) => {
          // An app that refuses an upload closes the connection, perhaps while it is being written.
          req.off("error", reject).on("error", () => undefined);
          readAll(res).then(resolve, reject);
        });
        req.end(body);
      }),
    close: () => {
      agent.destroy();
    },
  };
}

async function readAll(res: http.IncomingMessage): Promise<AppAnswer> {
  const { statusCode: status = 0, headers } = res;
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of res as AsyncIterable<Buffer>) {
    bytes += piece.length;
    // A part of it would be another answer.
    if (bytes > MAX_ANSWER_BYTES) {
      throw new Error(`its answer is longer than ${MAX_ANSWER_BYTES} bytes`);
    }
    pieces.push(piece);
  }
  return { status, headers, body: Buffer.concat(pieces) };
}
