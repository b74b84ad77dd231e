import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { TEST_SECRET } from "../../kit/signed-delivery.js";
import { freePort } from "../support/free-port.js";
import { pathIn } from "./install.js";
import type { RunningPlatform } from "./platform.js";

/** A server that is a process of its own. */
export interface ServerOptions {
  /** The folder under `test/platforms/` that the process runs in. */
  readonly folder: string;
  /** The program. Default the Node that runs this. */
  readonly program?: string;
  /** Its arguments. The server listens on 127.0.0.1 at `port`, which is also in `PORT`. */
  readonly args: (port: number) => readonly string[];
  /** A program and its arguments that build the app before the server starts. */
  readonly build?: readonly [program: string, ...args: string[]];
  /** The path that the receiver is mounted at. Default `/webhooks/gateway`. */
  readonly path?: string;
  /** What it prints when it is ready. Default: it is ready when it answers. */
  readonly readyText?: string;
  /** More environment variables. */
  readonly env?: (port: number) => Readonly<Record<string, string>>;
}

const START_TIMEOUT_MS = 90_000;
/** What frameworks compile. It would be run again, changed or not. */
const COMPILED = [".next", ".nitro", ".nuxt", ".output", ".svelte-kit", ".react-router", "build"];

/** The process groups that run, so that none outlives the runner. */
const groups = new Set<number>();
process.once("exit", () => {
  for (const group of groups) kill(group);
});

function kill(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Builds the app of a platform, starts its server and waits until it answers any request. */
export async function startServer(
  {
    folder,
    program = process.execPath,
    args,
    build,
    path = "/webhooks/gateway",
    readyText = "",
    env: more,
  }: ServerOptions,
  ledgerUrl: string,
): Promise<RunningPlatform> {
  const cwd = pathIn(folder);
  const port = await freePort();
  for (const made of COMPILED) rmSync(pathIn(folder, made), { recursive: true, force: true });
  const env = {
    ...process.env,
    GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
    LEDGER_URL: ledgerUrl,
    HOST: "127.0.0.1",
    PORT: String(port),
    ...more?.(port),
  };
  if (build !== undefined) {
    const [builder, ...buildArgs] = build;
    await promisify(execFile)(builder, buildArgs, { cwd, env });
  }
  // A process group, as a development server starts processes of its own.
  const server = spawn(program, args(port), {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  // A program that does not start has an error instead, which `untilAnswered` reports.
  const ended = once(server, "exit").catch(() => undefined);
  const group = server.pid;
  if (group !== undefined) groups.add(group);
  let output = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream.on("data", (text: Buffer) => (output += text.toString()));
  }
  const stop = async () => {
    if (group === undefined) return;
    kill(group);
    groups.delete(group);
    await ended;
  };
  const target = `http://127.0.0.1:${port}${path}`;
  try {
    await untilAnswered(
      target,
      () => output.includes(readyText),
      () => group === undefined || server.exitCode !== null || server.signalCode !== null,
    );
  } catch (error) {
    await stop();
    throw new Error(`the server did not start:\n${output}`, { cause: error });
  }
  return { target, stop };
}

async function untilAnswered(
  url: string,
  isReady: () => boolean,
  hasEnded: () => boolean,
): Promise<void> {
  const endsAt = performance.now() + START_TIMEOUT_MS;
  while (!hasEnded() && performance.now() < endsAt) {
    try {
      // The first request compiles the route.
      await (await fetch(url, { signal: AbortSignal.timeout(START_TIMEOUT_MS) })).text();
      if (isReady()) return;
    } catch {
      // It does not listen yet.
    }
    await sleep(100);
  }
  throw new Error(`${url} gave no answer`);
}
