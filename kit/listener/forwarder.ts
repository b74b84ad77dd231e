import type http from "node:http";
import { HttpClient } from "../sending/http-client.js";
import { faultText } from "../sending/target.js";
import { CONNECTION_HEADERS, outcomeOf, type HeaderLine } from "../sending/wire.js";

/** The longest answer that is forwarded. */
const MAX_ANSWER_BYTES = 1_048_576;

/** More headers that a proxy does not pass on (RFC 9110, section 7.6.1). */
const MORE_HEADERS = [
  "accept-encoding",
  "expect",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "trailer",
];

/** The answer of an app. */
interface AppAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** The exact bytes. They need not be text. */
  readonly body: Uint8Array;
}

/** An app's answer, or the reason why there is none that can be forwarded. */
export type Forwarded =
  | (AppAnswer & { readonly outcome: string | undefined; readonly ms: number })
  | { readonly error: string; readonly ms: number };

/**
 * Forwards requests to an app: the exact bytes, and every header line that does not belong to the
 * connection. Requests an uncompressed answer, so that its outcome can be read.
 */
export class Forwarder {
  readonly #client: HttpClient;
  readonly #timeoutMs: number;

  constructor(url: URL, timeoutMs: number, skipTlsVerification = false) {
    this.#client = new HttpClient(url, skipTlsVerification);
    this.#timeoutMs = timeoutMs;
  }

  /** Never rejects. */
  async forward(given: readonly HeaderLine[], body: Uint8Array): Promise<Forwarded> {
    const startedAt = performance.now();
    const since = (): number => performance.now() - startedAt;
    const signal = AbortSignal.timeout(this.#timeoutMs);
    const headers = [...forwardedLines(given), ["Accept-Encoding", "identity"] as const];
    try {
      const answer = await this.#client.send(() => {
        const framing = { "content-length": body.length };
        const req = this.#client.open({ method: "POST", headers }, framing, signal);
        const read = readAnswer(req);
        req.end(body);
        return { req, answer: read };
      });
      if (isCompressed(answer)) return { error: "its answer is compressed", ms: since() };
      const outcome = outcomeOf(new TextDecoder().decode(answer.body));
      return { ...answer, outcome, ms: since() };
    } catch (error) {
      const isLate = signal.aborted;
      const reason = isLate ? `no answer within ${this.#timeoutMs} ms` : faultText(error);
      return { error: reason, ms: since() };
    }
  }

  close(): void {
    this.#client.close();
  }
}

function readAnswer(req: http.ClientRequest): Promise<AppAnswer> {
  return new Promise((resolve, reject) => {
    req.on("error", reject).on("response", (res) => {
      // An app that refuses an upload may close the connection while the body is still being written.
      req.off("error", reject).on("error", () => undefined);
      readAll(res).then(resolve, reject);
    });
  });
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

/** A compressed answer cannot be forwarded: its outcome is unreadable, and `Content-Encoding` is dropped. */
function isCompressed({ headers }: AppAnswer): boolean {
  const { "content-encoding": coding = "" } = headers;
  return !["", "identity"].includes(coding.trim().toLowerCase());
}

function forwardedLines(lines: readonly HeaderLine[]): readonly HeaderLine[] {
  // `Connection` names more headers that belong to the connection.
  const named = lines
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.split(",").map((one) => one.trim().toLowerCase()));
  const dropped = new Set([...CONNECTION_HEADERS, ...MORE_HEADERS, ...named]);
  return lines.filter(([name]) => !dropped.has(name.toLowerCase()));
}
