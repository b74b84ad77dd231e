import { connect, createServer, type Socket } from "node:net";
import { listen } from "./servers.js";

/** A network in front of a server of 127.0.0.1 that can swallow what its connections carry. */
export interface BlackHoleProxy {
  readonly port: number;
  /**
   * From now on nothing comes through the connections that are open, and neither end is told, as where
   * a firewall has forgotten them. New ones are fine.
   */
  readonly swallow: () => void;
  /** Where new connections lead from now on, as a name does that is moved: a port of 127.0.0.1. */
  readonly leadTo: (port: number) => void;
  readonly close: () => Promise<void>;
}

/** Starts a proxy before the server at `port` of 127.0.0.1. */
export async function startBlackHoleProxy(port: number): Promise<BlackHoleProxy> {
  let target = port;
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
    const upstream = connect(target, "127.0.0.1");
    pass(client, upstream);
    pass(upstream, client);
  });
  const running = await listen(server);
  return {
    port: running.port,
    swallow() {
      for (const socket of sockets) swallowed.add(socket);
    },
    leadTo(next) {
      target = next;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return running.close();
    },
  };
}
