import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "./free-port.js";

/** A server that a test started, on a free port of 127.0.0.1 and with a folder of its own. */
export type ServerProcess = Awaited<ReturnType<typeof startServer>>;

/** A program that serves on a port. */
export interface ServerProgram {
  readonly name: string;
  readonly command: string;
  readonly args: (port: number, folder: string) => readonly string[];
  /** Rejects or resolves to false as long as the server does not answer. */
  readonly answers: (port: number) => Promise<boolean>;
  /** The user of the process and of its folder. */
  readonly owner?: Owner;
  /** Fills the folder before the first start. */
  readonly prepare?: (folder: string, port: number) => void;
}

/** The processes that run, so that none outlives this one, also when it ends by an error. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts the program and waits until it answers. */
export async function startServer(program: ServerProgram) {
  const { name, command, args, answers, owner = {}, prepare } = program;
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  give(folder, owner);
  const port = await freePort();
  prepare?.(folder, port);
  let child: ChildProcess | undefined;
  /** The end of the previous process, which may lock its folder until then. */
  let ended: Promise<unknown> = Promise.resolve();

  const start = async () => {
    await ended;
    const stdio = ["ignore", "pipe", "pipe"] as const;
    const started = spawn(command, args(port, folder), {
      ...owner,
      cwd: folder,
      stdio: [...stdio],
    });
    child = started;
    running.add(started.once("exit", () => running.delete(started)));
    let said = "";
    // Redis says on its standard output why it ends.
    for (const stream of [started.stdout, started.stderr]) {
      stream.on("data", (data: Buffer) => (said = (said + data.toString()).slice(-4_000)));
    }
    while (!hasEnded(started)) {
      // It is not listening yet, or is recovering from a crash.
      if (await answers(port).catch(() => false)) return;
      await wait(20);
    }
    const how = String(started.exitCode ?? started.signalCode);
    throw new Error(`${name} ended with ${how} before it answered: ${said}`);
  };
  const end = async (signal: NodeJS.Signals) => {
    const ending = child;
    child = undefined;
    if (ending === undefined || hasEnded(ending)) return;
    ended = once(ending, "exit");
    ending.kill(signal);
    await ended;
  };
  await start();
  return {
    port,
    /** Sends the signal and waits until the process has ended. Its folder and its port stay for `start`. */
    end,
    /** Starts it again on the same port, with the data on disk. */
    start,
    /** Suspends the process, like a machine that hangs: its connections stay open. */
    pause: () => child?.kill("SIGSTOP"),
    resume: () => child?.kill("SIGCONT"),
    /** Kills it and removes its folder. */
    close: async () => {
      await end("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Where a program of Debian's packages is: on PATH, or in one of the folders. */
export function findProgram(name: string, ...folders: readonly string[]): string | undefined {
  const places = [...(process.env["PATH"] ?? "").split(":"), ...folders];
  return places.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** The user of a process; empty for the user of the tests. */
export interface Owner {
  readonly uid?: number;
  readonly gid?: number;
}

/** The user of a server that refuses to run as root. */
export function ownerFor(user: string): Owner {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string) => Number(execFileSync("id", [flag, user], { encoding: "utf8" }));
  return { uid: idOf("-u"), gid: idOf("-g") };
}

/** Gives a folder to the user. */
export function give(folder: string, { uid, gid }: Owner): void {
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
}
