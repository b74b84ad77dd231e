import { outcomeOf, type HeaderLine } from "../../testing/sending/wire.js";
import { sendFault } from "../send/exchange.js";
import { createAppClient, type AppAnswer } from "./app-client.js";

/** Headers of one connection (RFC 9110, section 7.6.1), and what the next one writes for itself. */
const CONNECTION_HEADERS = [
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** What an app made of a delivery: its answer, or why there is none that can be passed on. */
export type Forwarded =
  | (AppAnswer & { readonly outcome: string | undefined; readonly ms: number })
  | { readonly error: string; readonly ms: number };

/** Hands requests on to an app. */
export interface Forwarder {
  readonly forward: (headers: readonly HeaderLine[], body: Uint8Array) => Promise<Forwarded>;
  readonly close: () => void;
}

/**
 * Makes a forwarder: the exact bytes, and every header line that is not the connection's. An answer is
 * asked for uncompressed, so that the listing can read its outcome.
 */
export function createForwarder(
  url: URL,
  options: { readonly timeoutMs: number; readonly skipTlsVerification: boolean },
): Forwarder {
  const app = createAppClient(url, options);
  return {
    async forward(headers, body) {
      const startedAt = performance.now();
      const since = (): number => performance.now() - startedAt;
      try {
        const lines = [...forwardedLines(headers), ["Accept-Encoding", "identity"]] as const;
        const answer = await app.ask(lines, body);
        if (isCompressed(answer)) return { error: "its answer is compressed", ms: since() };
        const outcome = outcomeOf(new TextDecoder().decode(answer.body));
        return { ...answer, outcome, ms: since() };
      } catch (error) {
        return { error: sendFault(error), ms: since() };
      }
    },
    close: app.close,
  };
}

/** Which it was not asked for: its outcome cannot be read, and its `Content-Encoding` is not passed on. */
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
  // `Connection` names further headers that end with it.
  const named = lines
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.split(",").map((one) => one.trim().toLowerCase()));
  const dropped = new Set([...CONNECTION_HEADERS, ...named]);
  return lines.filter(([name]) => !dropped.has(name.toLowerCase()));
}
