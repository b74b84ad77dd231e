import amqplib from "amqplib";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { startServer } from "../server-process.js";
import { freePort } from "../free-port.js";

/** Not Debian's wrapper in /usr/sbin, which changes the user. */
const script = "/usr/lib/rabbitmq/bin/rabbitmq-server";
export const hasRabbitmq = existsSync(script);

/** Starts a server, and the port mapper that its Erlang needs. */
export async function startRabbitmq() {
  const mapper = await startServer({
    name: "epmd",
    command: "epmd",
    answers: accepts,
    args: (port) => ["-port", String(port), "-address", "127.0.0.1"],
  });
  const distribution = await freePort();
  const starting = startServer({
    name: "rabbitmq",
    command: "env",
    answers,
    args(port, folder) {
      writeFileSync(join(folder, "enabled_plugins"), "[].\n");
      writeFileSync(join(folder, "rabbitmq.conf"), `listeners.tcp.local = 127.0.0.1:${port}\n`);
      const variables = {
        HOME: folder,
        ERL_EPMD_PORT: mapper.port,
        RABBITMQ_DIST_PORT: distribution,
        RABBITMQ_NODENAME: `test-${port}@localhost`,
        RABBITMQ_CONFIG_FILE: join(folder, "rabbitmq.conf"),
        RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "enabled_plugins"),
        RABBITMQ_MNESIA_BASE: join(folder, "data"),
        RABBITMQ_LOG_BASE: join(folder, "log"),
        RABBITMQ_LOGS: "-",
        // Otherwise the script stays in front of the server, and a signal reaches the script alone.
        NOTIFY_SOCKET: "/dev/null",
      };
      return [...Object.entries(variables).map(([name, value]) => `${name}=${value}`), script];
    },
  });
  const { end, close, ...server } = await starting.catch(async (error: unknown) => {
    await mapper.close();
    throw error;
  });
  return {
    ...server,
    url: `amqp://guest:guest@127.0.0.1:${server.port}`,
    /** Kills it with SIGKILL. What it has confirmed is there at the next `start`. */
    kill: () => end("SIGKILL"),
    close: async () => {
      await close();
      await mapper.close();
    },
  };
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } finally {
    socket.destroy();
  }
}

async function answers(port: number): Promise<boolean> {
  const connection = await amqplib.connect(`amqp://guest:guest@127.0.0.1:${port}/`);
  await connection.close();
  return true;
}
