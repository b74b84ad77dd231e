import http from "node:http";
import type { AddressInfo } from "node:net";
import { UsageError } from "../exit.js";

/** A server that listens. */
export interface ListeningServer {
  readonly url: string;
  /** Accepts no more requests. Resolves when the running ones are answered, or after `CLOSING_MS`. */
  readonly close: () => Promise<void>;
}

/** How long running requests may take to end. */
const CLOSING_MS = 1_000;

/** Starts a server. Rejects with `UsageError` if the host or the port is not available. */
export function startServer(
  listener: http.RequestListener,
  port: number,
  host: string,
): Promise<ListeningServer> {
  const server = http.createServer(listener);
  return new Promise((resolve, reject) => {
    server.on("error", ({ code, message }: NodeJS.ErrnoException) => {
      reject(new UsageError(faultOf(code, message, port, host)));
    });
    server.listen(port, host, () => {
      const { port: actual } = server.address() as AddressInfo;
      const name = host.includes(":") ? `[${host}]` : host;
      resolve({ url: `http://${name}:${actual}/`, close: () => close(server) });
    });
  });
}

function close(server: http.Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.closeAllConnections();
    }, CLOSING_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function faultOf(code = "", message: string, port: number, host: string): string {
  const faults: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} is in use: choose another with --port, or 0 for any free port`,
    EACCES: `port ${port} is not allowed: choose 1024 or higher with --port`,
    ENOTFOUND: `--host ${host} is not an address of this machine`,
    EADDRNOTAVAIL: `--host ${host} is not an address of this machine`,
  };
  return faults[code] ?? message;
}
