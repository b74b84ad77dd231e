import http from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { MAX_BODY_BYTES, refusalOf } from "./gate.js";

/** A server that listens. */
export interface LocalServer {
  /** Ends with a slash. */
  readonly url: string;
  readonly port: number;
  /** Accepts no more requests. Resolves when the running ones are answered, or after `CLOSING_MS`. */
  readonly close: () => Promise<void>;
}

/** Of a JSON answer that a browser may get: no frame, no guess at its type, no cache, no other site. */
export const SAFE_HEADERS = {
  "cache-control": "no-store",
  "content-type": "application/json",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** How long running requests may take to end. */
const CLOSING_MS = 1_000;

/**
 * Starts a server with the gate in front. A request whose listener rejects, such as one that is cut off, loses its
 * connection. `allowHosts`: more names than its address, 127.0.0.1 and localhost. Rejects if the host or the port is
 * not available.
 */
export async function startServer(
  listener: (req: http.IncomingMessage, res: http.ServerResponse) => unknown,
  port: number,
  host: string,
  allowHosts: readonly string[] | "any",
): Promise<LocalServer> {
  const name = host.includes(":") ? `[${host}]` : host;
  let hosts: readonly string[] | "any" = [];
  const answer = async (req: http.IncomingMessage, res: http.ServerResponse): Promise<void> => {
    const { method = "", headersDistinct: headers } = req;
    const { status, ...error } = refusalOf({ method, headers }, hosts) ?? {};
    try {
      if (status === undefined) await listener(req, res);
      else res.writeHead(status, SAFE_HEADERS).end(JSON.stringify({ error }));
    } catch {
      res.destroy();
    }
  };
  const server = http.createServer((req, res) => void answer(req, res));
  server.listen(port, host);
  await once(server, "listening");
  const { port: actual } = server.address() as AddressInfo;
  const own = [name, "127.0.0.1", "localhost"].map((one) => `${one}:${actual}`);
  hosts = allowHosts === "any" ? "any" : [...new Set([...own, ...allowHosts])];
  return { url: `http://${name}:${actual}/`, port: actual, close: () => close(server) };
}

/** The whole body. Rejects if the request is cut off, or is longer than the gate allows. */
export async function readBody(req: http.IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of req as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_BODY_BYTES) throw new Error("the body is too long");
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function close(server: http.Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), CLOSING_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
