import { connect, createServer, type Socket } from "node:net";
import { listen } from "./servers.js";

/** A network in front of a server of 127.0.0.1. */
export interface SwallowingProxy {
  readonly port: number;
  /**
   * From now on nothing comes through the connections that are open, and neither end is told, as where
   * a firewall has forgotten them. New ones are fine.
   */
  readonly swallow: () => void;
  readonly close: () => Promise<void>;
}

/** Starts one on a free port. */
export async function startSwallowingProxy(port: number): Promise<SwallowingProxy> {
  const sockets = new Set<Socket>();
  const swallowed = new Set<Socket>();

  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on("data", (bytes) => {
      if (!swallowed.has(from)) to.write(bytes);
    });
    from.on("error", () => undefined);
    from.on("close", () => {
      sockets.delete(from);
      if (!swallowed.has(from)) to.destroy();
    });
  };
  const server = createServer((client) => {
    const target = connect(port, "127.0.0.1");
    pass(client, target);
    pass(target, client);
  });
  const running = await listen(server);
  return {
    port: running.port,
    swallow() {
      for (const socket of sockets) swallowed.add(socket);
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return running.close();
    },
  };
}
