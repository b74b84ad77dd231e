import http from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

/** A server that listens. */
export interface LocalServer {
  /** Ends with a slash. */
  readonly url: string;
  readonly port: number;
  /** Accepts no more requests. Resolves when the running ones are answered, or after `CLOSING_MS`. */
  readonly close: () => Promise<void>;
}

/** How long running requests may take to end. */
const CLOSING_MS = 1_000;

/** Starts a server. Rejects if the host or the port is not available. */
export async function startServer(
  listener: http.RequestListener,
  port: number,
  host: string,
): Promise<LocalServer> {
  const server = http.createServer(listener);
  server.listen(port, host);
  await once(server, "listening");
  const { port: actual } = server.address() as AddressInfo;
  const name = host.includes(":") ? `[${host}]` : host;
  return { url: `http://${name}:${actual}/`, port: actual, close: () => close(server) };
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
