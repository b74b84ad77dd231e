import { once } from "node:events";
import { connect } from "node:net";
import { findProgram, startServer, type ServerProcess } from "../server-process.js";

/** A `nats-server` that a test started. */
export interface NatsServer extends Omit<ServerProcess, "end"> {
  readonly url: string;
  /** Kills it with SIGKILL. What JetStream has acknowledged is there at the next `start`. */
  readonly kill: () => Promise<void>;
}

const command = findProgram("nats-server", "/usr/sbin");
export const hasNatsServer = command !== undefined;

/** Starts a server with JetStream. */
export async function startNatsServer(): Promise<NatsServer> {
  const { end, ...server } = await startServer({
    name: "nats",
    command: command ?? "nats-server",
    answers,
    args: (port, folder) => ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", folder],
  });
  return { ...server, url: `nats://127.0.0.1:${server.port}`, kill: () => end("SIGKILL") };
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    const [greeting] = (await once(socket, "data")) as [Buffer];
    return greeting.toString().startsWith("INFO ");
  } finally {
    socket.destroy();
  }
}
