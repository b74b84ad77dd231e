import { CONNECTION_HEADERS, outcomeOf, type HeaderLine } from "../../kit/sending/wire.js";
import { sendFault } from "../send/exchange.js";
import { AppClient, type AppAnswer, type AppClientOptions } from "./app-client.js";

/** More headers that a proxy does not pass on (RFC 9110, section 7.6.1). */
const MORE_HEADERS = [
  "accept-encoding",
  "expect",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "trailer",
];

/** An app's answer, or the reason why there is none that can be forwarded. */
export type Forwarded =
  | (AppAnswer & { readonly outcome: string | undefined; readonly ms: number })
  | { readonly error: string; readonly ms: number };

/**
 * Forwards requests to an app: the exact bytes, and every header line that does not belong to the
 * connection. Requests an uncompressed answer, so that the listing can read its outcome.
 */
export class Forwarder {
  readonly #app: AppClient;

  constructor(url: URL, options: AppClientOptions) {
    this.#app = new AppClient(url, options);
  }

  /** Never rejects. */
  async forward(headers: readonly HeaderLine[], body: Uint8Array): Promise<Forwarded> {
    const startedAt = performance.now();
    const since = (): number => performance.now() - startedAt;
    try {
      const lines = [...forwardedLines(headers), ["Accept-Encoding", "identity"]] as const;
      const answer = await this.#app.send(lines, body);
      if (isCompressed(answer)) return { error: "its answer is compressed", ms: since() };
      const outcome = outcomeOf(new TextDecoder().decode(answer.body));
      return { ...answer, outcome, ms: since() };
    } catch (error) {
      return { error: sendFault(error), ms: since() };
    }
  }

  close(): void {
    this.#app.close();
  }
}

/** A compressed answer cannot be forwarded: its outcome is unreadable, and `Content-Encoding` is dropped. */
function isCompressed({ headers }: AppAnswer): boolean {
  const { "content-encoding": coding = "" } = headers;
  return !["", "identity"].includes(coding.trim().toLowerCase());
}

/** The pairs of Node's `rawHeaders`. */
export function linesOfRawHeaders(raw: readonly string[]): readonly HeaderLine[] {
  return raw.flatMap((name, at) => {
    const [value] = at % 2 === 0 ? raw.slice(at + 1, at + 2) : [];
    return value === undefined ? [] : [[name, value]];
  });
}

function forwardedLines(lines: readonly HeaderLine[]): readonly HeaderLine[] {
  // `Connection` names more headers that belong to the connection.
  const named = lines
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.split(",").map((one) => one.trim().toLowerCase()));
  const dropped = new Set([...CONNECTION_HEADERS, ...MORE_HEADERS, ...named]);
  return lines.filter(([name]) => !dropped.has(name.toLowerCase()));
}
