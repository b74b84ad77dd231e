import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";

/** A TCP proxy in front of an engine that counts round trips. */
export interface TurnProxy {
  readonly port: number;
  /** How often a client spoke after its server, over all connections. Commands sent together are one turn. */
  readonly turns: () => number;
  readonly close: () => void;
}

/** Starts a proxy in front of the server at `port` of 127.0.0.1. */
export async function startTurnProxy(port: number): Promise<TurnProxy> {
  let turns = 0;
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port, host: "127.0.0.1", noDelay: true });
    let isClientsTurn = false;
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", cut).on("close", cut);
    }
    client.on("data", (chunk) => {
      if (!isClientsTurn) turns += 1;
      isClientsTurn = true;
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      isClientsTurn = false;
      client.write(chunk);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    turns: () => turns,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
