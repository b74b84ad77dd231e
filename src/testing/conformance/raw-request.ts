import net from "node:net";
import tls from "node:tls";
import type { WireAnswer, WireRequest } from "../sending/wire.js";
import { SendError } from "../sending/target.js";
import type { ConformanceSettings } from "./conformance-options.js";

/** Longer than any status line. Nothing after it is read. */
const MAX_RECEIVED_CHARACTERS = 4_096;
const PORTS = new Map([
  ["http:", 80],
  ["https:", 443],
]);
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})/;

/**
 * Sends a request byte for byte, with header lines that no HTTP client would write. Resolves to the status of
 * the first answer. Rejects when the connection ends without one.
 */
export function sendRawRequest(
  url: URL,
  { timeoutMs, skipTlsVerification }: ConformanceSettings,
  { method, body = new Uint8Array(0) }: WireRequest,
  headerLines: readonly string[],
): Promise<WireAnswer> {
  const isTls = url.protocol === "https:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || PORTS.get(url.protocol));
  const head = [
    `${method} ${url.pathname}${url.search} HTTP/1.1`,
    `Host: ${url.host}`,
    "Connection: close",
    ...headerLines,
    `Content-Length: ${body.length}`,
    "",
    "",
  ].join("\r\n");

  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const socket = isTls
      ? tls.connect({
          host,
          port,
          rejectUnauthorized: !skipTlsVerification,
          ...(net.isIP(host) === 0 ? { servername: host } : {}),
        })
      : net.connect({ host, port });
    let received = "";
    // The socket's own time-out would start again with each byte that the server sends.
    const timer = setTimeout(() => {
      socket.destroy(new SendError("timeout", `no answer within ${timeoutMs} ms`));
    }, timeoutMs);
    socket.on("data", (data: Buffer) => {
      received += data.toString("latin1");
      const status = STATUS_LINE.exec(received)?.[1];
      if (status === undefined) {
        if (received.length > MAX_RECEIVED_CHARACTERS) socket.destroy();
        return;
      }
      resolve({ status: Number(status), headers: {}, body: "", ms: performance.now() - startedAt });
      socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => {
      clearTimeout(timer);
      reject(new Error("the connection ended without an answer"));
    });
    socket.write(Buffer.concat([Buffer.from(head, "latin1"), body]));
  });
}
