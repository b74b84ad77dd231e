import { createSender } from "../../testing/sending/sender.js";
import type { HeaderLine, WireAnswer } from "../../testing/sending/wire.js";
import { sendFault } from "../send/exchange.js";

/** Headers of one connection (RFC 9110, section 7.6.1), and what the next one writes for itself. */
const CONNECTION_HEADERS = [
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

/** Hands requests on to an app. */
export interface Forwarder {
  /** The app's answer, or why there is none. */
  readonly forward: (
    headers: readonly HeaderLine[],
    body: Uint8Array,
  ) => Promise<WireAnswer | { readonly error: string; readonly ms: number }>;
  readonly close: () => void;
}

/** Makes a forwarder: the exact bytes, and every header line that is not the connection's. */
export function createForwarder(
  url: URL,
  options: { readonly timeoutMs: number; readonly skipTlsVerification: boolean },
): Forwarder {
  const sender = createSender(url, options);
  return {
    async forward(headers, body) {
      const startedAt = performance.now();
      try {
        return await sender.send({ method: "POST", headers: forwardedLines(headers), body });
      } catch (error) {
        return { error: sendFault(error), ms: performance.now() - startedAt };
      }
    },
    close: sender.close,
  };
}

/** The pairs of Node's `rawHeaders`. */
export function linesOfRawHeaders(raw: readonly string[]): readonly HeaderLine[] {
  return raw.flatMap((name, at): HeaderLine[] => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""]] : []));
}

function forwardedLines(lines: readonly HeaderLine[]): readonly HeaderLine[] {
  // `Connection` names further headers that end with it.
  const named = lines
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.split(",").map((one) => one.trim().toLowerCase()));
  const dropped = new Set([...CONNECTION_HEADERS, ...named]);
  return lines.filter(([name]) => !dropped.has(name.toLowerCase()));
}
