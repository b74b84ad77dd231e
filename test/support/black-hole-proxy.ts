import { connect, createServer, type Socket } from "node:net";
import { listen } from "./servers.js";

/** A proxy in front of a local server that can drop the data of its connections. */
export type BlackHoleProxy = Awaited<ReturnType<typeof startBlackHoleProxy>>;

/** Starts a proxy in front of the server at `port` of 127.0.0.1. */
export async function startBlackHoleProxy(port: number) {
  let target = port;
  const sockets = new Set<Socket>();
  const swallowed = new Set<Socket>();
  let onData: ((bytes: Buffer) => void) | undefined;

  const swallow = () => {
    for (const socket of sockets) swallowed.add(socket);
  };
  const pass = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on("data", (bytes) => {
      if (swallowed.has(from)) return;
      to.write(bytes);
      onData?.(bytes);
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
    /**
     * From now on the open connections carry no data, and neither end is notified, as after a firewall has forgotten
     * them. New connections work.
     */
    swallow,
    /**
     * The next data with this text still reaches the server. From then on it is as after `swallow`, which resolves the
     * promise.
     */
    loseAnswerTo(text: string) {
      return new Promise<void>((resolve) => {
        onData = (bytes) => {
          if (!bytes.includes(text)) return;
          onData = undefined;
          swallow();
          resolve();
        };
      });
    },
    /** Sends new connections to another local port from now on, as after a change of DNS. */
    leadTo(next: number) {
      target = next;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return running.close();
    },
  };
}
