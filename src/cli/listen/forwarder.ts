import { createSender } from "../../testing/sending/sender.js";
import type { HeaderLine, WireAnswer } from "../../testing/sending/wire.js";
import { sendFault } from "../send/exchange.js";

/** The longest answer that is passed on. */
const MAX_ANSWER_BYTES = 1_048_576;

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

/** Hands requests on to an app. */
export interface Forwarder {
  /** The app's answer, or why there is none. */
  readonly forward: (
    headers: readonly HeaderLine[],
    body: Uint8Array,
  ) => Promise<WireAnswer | { readonly error: string; readonly ms: number }>;
  readonly close: () => void;
}

/**
 * Makes a forwarder: the exact bytes, and every header line that is not the connection's. An answer is
 * asked for as plain text, which the listing reads too; one that cannot be passed on as it is counts as
 * none, since a part of it would be another answer.
 */
export function createForwarder(
  url: URL,
  options: { readonly timeoutMs: number; readonly skipTlsVerification: boolean },
): Forwarder {
  const sender = createSender(url, options, MAX_ANSWER_BYTES);
  return {
    async forward(headers, body) {
      const startedAt = performance.now();
      try {
        const lines = [...forwardedLines(headers), ["Accept-Encoding", "identity"]] as const;
        const answer = await sender.send({ method: "POST", headers: lines, body });
        const fault = faultOf(answer);
        return fault === undefined ? answer : { error: fault, ms: answer.ms };
      } catch (error) {
        return { error: sendFault(error), ms: performance.now() - startedAt };
      }
    },
    close: sender.close,
  };
}

/** Why an answer cannot be passed on. */
function faultOf({ isCut = false, headers }: WireAnswer): string | undefined {
  if (isCut) return `its answer is longer than ${MAX_ANSWER_BYTES} bytes`;
  const coding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  return coding === "identity" || coding === "" ? undefined : "its answer is compressed";
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
