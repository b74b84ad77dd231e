import { connect, createServer, type Socket } from "node:net";
import { listen } from "./servers.js";

/** A TCP proxy before a server, on a network that can swallow what its connections carry. */
export interface BlackHole {
  readonly port: number;
  /** From now on nothing passes on the connections that are open, and they stay open. New ones work. */
  readonly open: () => void;
  readonly close: () => Promise<void>;
}

/** Starts a proxy before the server at `port` of 127.0.0.1. */
export async function startBlackHole(port: number): Promise<BlackHole> {
  const sockets = new Set<Socket>();
  const swallowed = new WeakSet<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    const join = (from: Socket, to: Socket): void => {
      sockets.add(from);
      from.on("data", (chunk) => {
        if (!swallowed.has(from)) to.write(chunk);
      });
      from.on("error", () => undefined);
      from.on("close", () => to.destroy());
    };
    join(client, upstream);
    join(upstream, client);
  });
  const { port: ownPort, close } = await listen(server);
  return {
    port: ownPort,
    open() {
      for (const socket of sockets) swallowed.add(socket);
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await close();
    },
  };
}
