import { connect, createServer, type Socket } from "node:net";
import { listen } from "./servers.js";

/** What the proxy does with a COMMIT and its connection. */
type CommitFault =
  /** Cuts the connection before the server gets the command. */
  | "lose the command"
  /** Cuts the connection after the server has committed, instead of passing the answer. */
  | "lose the answer"
  /** Keeps the connection open and passes nothing more. */
  | "swallow";

/**
 * Starts a TCP proxy in front of the database server at `port` of 127.0.0.1, which breaks connections at COMMIT.
 * `commit`: by which it knows a COMMIT, in latin1.
 */
export async function startCommitProxy(port: number, commit: RegExp) {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", cut).on("close", cut);
    }
    let hit: CommitFault | undefined;
    client.on("data", (chunk) => {
      if (commit.test(chunk.toString("latin1")) && proxy.fault !== undefined) {
        hit = proxy.fault;
        proxy.hits += 1;
      }
      if (hit === "lose the command") cut();
      else if (hit !== "swallow") upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      if (hit === "lose the answer") cut();
      else if (hit === undefined) client.write(chunk);
    });
  });
  const { port: ownPort, close } = await listen(server);
  const proxy = {
    port: ownPort,
    /** Undefined: the proxy passes everything. */
    fault: undefined as CommitFault | undefined,
    /** How many COMMITs were broken. */
    hits: 0,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await close();
    },
  };
  return proxy;
}
