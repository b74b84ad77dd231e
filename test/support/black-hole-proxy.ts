import { connect, createServer, type Socket } from "node:net";
import { listen } from "./servers.js";

/** A TCP proxy whose connections can be swallowed: they stay open, and nothing passes any more. */
export interface BlackHoleProxy {
  readonly port: number;
  /** Swallows all connections that are open now. New ones pass. */
  readonly swallow: () => void;
  /** Where new connections lead from now on, as a name does that is moved: a port of 127.0.0.1. */
  readonly leadTo: (port: number) => void;
  readonly close: () => Promise<void>;
}

/** Starts a proxy before the server at `port` of 127.0.0.1. */
export async function startBlackHoleProxy(port: number): Promise<BlackHoleProxy> {
  let target = port;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", cut).on("close", cut);
    }
    client.pipe(upstream).pipe(client);
  });
  const { port: ownPort, close } = await listen(server);
  return {
    port: ownPort,
    swallow() {
      for (const socket of sockets) socket.unpipe().on("data", () => undefined);
    },
    leadTo(next) {
      target = next;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await close();
    },
  };
}
