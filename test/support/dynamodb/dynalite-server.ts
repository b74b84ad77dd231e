import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../free-port.js";
import { installPlatform } from "../platform-packages.js";

/** A dynalite in its own process, with its data in a folder of its own. */
export interface DynaliteServer {
  readonly port: number;
  readonly url: string;
  /** Kills it with SIGKILL. Its folder and its port stay for `start`. */
  readonly kill: () => Promise<void>;
  /** Starts it again on the same port, with the data on disk. */
  readonly start: () => Promise<void>;
  /** Suspends the process, like a machine that hangs: its connections stay open. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Kills it and removes its folder. */
  readonly close: () => Promise<void>;
}

/** Starts dynalite on a free port of 127.0.0.1. `inMemory`: faster, and without data after a restart. */
export async function startDynalite({ inMemory = false } = {}): Promise<DynaliteServer> {
  const root = await installPlatform("dynamodb");
  const program = createRequire(new URL("package.json", root)).resolve("dynalite/cli.js");
  const folder = mkdtempSync(join(tmpdir(), "dynalite-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ["--host", "127.0.0.1", "--port", String(port)];
  if (!inMemory) args.push("--path", folder);
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const started = spawn(process.execPath, [program, ...args, "--createTableMs", "1"], {
      stdio: "ignore",
    });
    child = started;
    await untilItAnswers(url, started);
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
    url,
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

async function untilItAnswers(url: string, server: ChildProcess): Promise<void> {
  while (server.exitCode === null && server.signalCode === null) {
    try {
      // The health check of DynamoDB.
      if ((await fetch(url)).ok) return;
    } catch {
      // It does not listen yet.
    }
    await wait(20);
  }
  throw new Error(`dynalite ended with ${String(server.exitCode ?? server.signalCode)}`);
}
