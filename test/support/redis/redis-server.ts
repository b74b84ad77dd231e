import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../free-port.js";

/** A `redis-server` that a test started. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Kills it with SIGKILL. Its folder and its port stay for `start`. */
  readonly kill: () => Promise<void>;
  /** Starts it again on the same port, with the data on disk: none unless `settings` persist it. */
  readonly start: () => Promise<void>;
  /** Suspends the process, like a machine that hangs: its connections stay open. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Kills it and removes its folder. */
  readonly close: () => Promise<void>;
}

/** Whether there is a `redis-server` on PATH. */
export const hasRedisServer = spawnSync("redis-server", ["--version"]).status === 0;

/** Starts a server on a free port of 127.0.0.1, in a folder of its own. `settings`: more of redis.conf. */
export async function startRedisServer(
  settings: Readonly<Record<string, string>> = {},
): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "redis-"));
  const port = await freePort();
  const all = {
    ...{ port: String(port), bind: "127.0.0.1", dir: folder, daemonize: "no", save: "" },
    ...{ appendonly: "no", loglevel: "warning", ...settings },
  };
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const started = spawn("redis-server", args, { stdio: "ignore" });
    child = started;
    await untilItAnswers(port, started);
  };
  const kill = async (): Promise<void> => {
    const running = child;
    child = undefined;
    if (running?.exitCode !== null) return;
    const exited = once(running, "exit");
    running.kill("SIGKILL");
    await exited;
  };
  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    kill,
    start,
    pause: () => child?.kill("SIGSTOP"),
    resume: () => child?.kill("SIGCONT"),
    async close() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilItAnswers(port: number, server: ChildProcess): Promise<void> {
  while (server.exitCode === null && server.signalCode === null) {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      socket.write("PING\r\n");
      const [reply] = (await once(socket, "data")) as [Buffer];
      if (reply.toString().startsWith("+PONG")) return;
    } catch {
      // It does not listen yet.
    } finally {
      socket.destroy();
    }
    await wait(20);
  }
  throw new Error(
    `redis-server ended with ${server.exitCode ?? server.signalCode} before it answered`,
  );
}
