import { Redis } from "ioredis";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { startServer, type ServerProcess } from "../server-process.js";

/** A `redis-server` that a test started. */
export interface RedisServer extends Omit<ServerProcess, "end"> {
  readonly url: string;
  /** Kills it with SIGKILL. `start` finds no data unless `settings` persist it. */
  readonly kill: () => Promise<void>;
}

/** Whether there is a `redis-server` on PATH. */
export const hasRedisServer = spawnSync("redis-server", ["--version"]).status === 0;

/** Starts a server. `settings`: more of redis.conf. */
export async function startRedisServer(
  settings: Readonly<Record<string, string>> = {},
): Promise<RedisServer> {
  const { end, ...server } = await startServer({
    name: "redis",
    command: "redis-server",
    answers,
    args(port, folder) {
      const all = {
        port: String(port),
        bind: "127.0.0.1",
        dir: folder,
        daemonize: "no",
        save: "",
        appendonly: "no",
        loglevel: "warning",
        ...settings,
      };
      return Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
    },
  });
  return { ...server, url: `redis://127.0.0.1:${server.port}`, kill: () => end("SIGKILL") };
}

/** Starts a server with a client that its `close` disconnects. */
export async function startRedisWithAdmin(settings?: Readonly<Record<string, string>>) {
  const server = await startRedisServer(settings);
  const admin = new Redis(server.port);
  const close = () => {
    admin.disconnect();
    return server.close();
  };
  return { ...server, admin, close };
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    socket.write("PING\r\n");
    const [reply] = (await once(socket, "data")) as [Buffer];
    return reply.toString().startsWith("+PONG");
  } finally {
    socket.destroy();
  }
}
