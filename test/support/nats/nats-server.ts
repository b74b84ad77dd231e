import { once } from "node:events";
import { connect } from "node:net";
import { findProgram, startServer } from "../server-process.js";

const command = findProgram("nats-server", "/usr/sbin");
export const hasNatsServer = command !== undefined;

/** Starts a server with JetStream. */
export async function startNatsServer() {
  const { end, ...server } = await startServer({
    name: "nats",
    command: command ?? "nats-server",
    answers,
    args: (port, folder) => ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", folder],
  });
  // What JetStream has acknowledged is there at the next `start`.
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
