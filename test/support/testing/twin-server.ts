import http, { type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import { serving } from "../serving.js";

/** A real server for a twin, which closes at the end of its test. */
export interface TwinServer {
  readonly url: string;
  /** How many requests have arrived. */
  readonly requests: () => number;
  /** Resolves when no connection is open. */
  readonly idle: () => Promise<void>;
}

/** Starts a server on a free port. `answer` is called when the whole body has arrived. */
export async function startTwinServer(
  answer: (req: IncomingMessage, res: ServerResponse, count: number) => void,
): Promise<TwinServer> {
  let requests = 0;
  const open = new Set<object>();
  const server = http.createServer((req, res) => {
    req.on("error", () => undefined);
    req.resume().on("end", () => answer(req, res, requests++));
  });
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => {
      open.delete(socket);
      if (open.size === 0) server.emit("idle");
    });
  });
  return {
    url: `${await serving(server)}webhooks`,
    requests: () => requests,
    async idle() {
      if (open.size > 0) await once(server, "idle");
    },
  };
}
