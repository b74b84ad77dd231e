import http, { type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import { listen } from "../servers.js";

/** A real server for a twin. */
export interface TwinServer {
  readonly url: string;
  /** How many requests have arrived. */
  readonly requests: () => number;
  /** Resolves when no connection is open. */
  readonly idle: () => Promise<void>;
  /** Stops the server and closes its connections. */
  readonly close: () => Promise<void>;
}

/** Starts a server on a free port. `answer` is called when the whole body has arrived. */
export async function startTwinServer(
  answer: (req: IncomingMessage, res: ServerResponse, count: number) => void,
): Promise<TwinServer> {
  let requests = 0;
  const open = new Set<object>();
  const server = http.createServer((req, res) => {
    req.on("error", () => undefined);
    req.resume().on("end", () => {
      answer(req, res, requests++);
    });
  });
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => {
      open.delete(socket);
      if (open.size === 0) server.emit("idle");
    });
  });
  const { port, close } = await listen(server);
  return {
    url: `http://127.0.0.1:${String(port)}/webhooks`,
    requests: () => requests,
    async idle() {
      if (open.size > 0) await once(server, "idle");
    },
    close: () => {
      const closed = close();
      server.closeAllConnections();
      return closed;
    },
  };
}
