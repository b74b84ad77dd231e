import { MAX_ANSWER_BYTES } from "../sending/body-collector.js";
import { openSocket } from "../sending/open-socket.js";
import type { WireAnswer, WireRequest } from "../sending/wire.js";
import { SendError } from "../sending/target.js";
import type { ConformanceSettings } from "./conformance-options.js";

/** How long the rest of an answer may take after its status. */
const REST_MS = 500;
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})/;

/** How a request line and its host are written. */
export interface RawForm {
  /** Default 1.1. */
  readonly version?: "1.0" | "1.1";
  /** The header `Host`. Default the one of the URL. Empty leaves it out, which HTTP/1.0 allows. */
  readonly host?: string;
}

/**
 * Sends a request byte for byte, with header lines that no HTTP client would write. Resolves to the first
 * answer. Rejects when the connection ends without one.
 */
export function sendRawRequest(
  url: URL,
  { timeoutMs, skipTlsVerification }: ConformanceSettings,
  { method, body = new Uint8Array(0) }: WireRequest,
  headerLines: readonly string[],
  { version = "1.1", host = url.host }: RawForm = {},
): Promise<WireAnswer> {
  const head = [
    `${method} ${url.pathname}${url.search} HTTP/${version}`,
    ...(host === "" ? [] : [`Host: ${host}`]),
    "Connection: close",
    ...authorizationLines(url),
    ...headerLines,
    `Content-Length: ${body.length}`,
    "",
    "",
  ].join("\r\n");

  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const socket = openSocket(url, skipTlsVerification);
    let received = "";
    let receivedMs: number | undefined;
    // The socket's own time-out would start again with each byte that the server sends.
    const timer = setTimeout(
      () => socket.destroy(new SendError("timeout", `no answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    socket.on("data", (data: Buffer) => {
      received += data.toString("latin1");
      if (received.length > MAX_ANSWER_BYTES) socket.destroy();
      if (receivedMs !== undefined || !STATUS_LINE.test(received)) return;
      receivedMs = performance.now() - startedAt;
      // The server should close the connection after its answer. One that does not gets no more time.
      clearTimeout(timer);
      setTimeout(() => socket.destroy(), REST_MS).unref();
    });
    // When the status has arrived, the answer counts however the connection ends.
    socket.on("error", (error: Error) => {
      if (receivedMs === undefined) reject(error);
    });
    socket.on("close", () => {
      clearTimeout(timer);
      if (receivedMs === undefined) {
        reject(new SendError("network", "the connection ended without an answer"));
      } else resolve({ ...readAnswer(received), ms: receivedMs });
    });
    socket.write(Buffer.concat([Buffer.from(head, "latin1"), body]));
  });
}

/** The credentials of the URL, as `http.request` sends them (RFC 7617). */
function authorizationLines({ username, password }: URL): readonly string[] {
  if (username === "" && password === "") return [];
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return [`Authorization: Basic ${Buffer.from(credentials).toString("base64")}`];
}

/** Reads an answer that begins with a status line. The body of a chunked answer stays as it is. */
function readAnswer(text: string): Omit<WireAnswer, "ms"> {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = lines.map((line) => {
    const [name = "", ...value] = line.split(":");
    return [name.toLowerCase(), value.join(":").trim()] as const;
  });
  return {
    status: Number(STATUS_LINE.exec(statusLine)?.[1]),
    headers: Object.fromEntries(headers),
    body: rest.join("\r\n\r\n"),
  };
}
