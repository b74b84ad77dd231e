import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { TEST_SECRET } from "../deliveries.js";
import { REPOSITORY, installPackage } from "../package/installed-package.js";

/** A process whose streams are pipes. */
export interface RunningProcess {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** The complete output, after the process has ended. */
  readonly stdout: Promise<string>;
  readonly stderr: Promise<string>;
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** The first line of standard output; rejects if it ends without one. */
  readonly firstLine: Promise<string>;
}

/** The command line as a partner has it: the packed tarball in an empty folder. */
export interface InstalledCli {
  readonly folder: string;
  /** Starts the real binary, in a shell's environment with the test secret. */
  readonly start: (
    argv: readonly string[],
    env?: Readonly<Record<string, string | undefined>>,
  ) => RunningProcess;
  /** The binary's path. */
  readonly binary: string;
  readonly remove: () => void;
}

/** Installs the packed package. */
export function installCli(): InstalledCli {
  const project = installPackage("commonjs");
  const { folder } = project;
  const binary = path.join(folder, "node_modules/.bin/identity-gateway-webhooks");
  return {
    folder,
    binary,
    start: (argv, env) => startProcess(binary, argv, folder, env),
    remove: () => {
      project.remove();
    },
  };
}

/** Starts `examples/express.ts` on a free port, and resolves to its URL. */
export async function startExpressExample(): Promise<{ url: string; stop: () => void }> {
  const argv = ["--import", "tsx", "examples/express.ts"];
  const example = startProcess(process.execPath, argv, REPOSITORY, { PORT: "0" });
  const line = await example.firstLine;
  return {
    url: line.replace("listening on ", "").replace("localhost", "127.0.0.1"),
    stop: () => example.child.kill("SIGKILL"),
  };
}

/** Starts a process with pipes for its streams. */
function startProcess(
  command: string,
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string | undefined>> = {},
): RunningProcess {
  const child = spawn(command, argv, {
    cwd,
    env: { PATH: process.env["PATH"], GATEWAY_WEBHOOK_SECRET: TEST_SECRET, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const lines = createInterface({ input: child.stdout });
  const stdout = text(child.stdout);
  const stderr = text(child.stderr);
  const firstLine = Promise.race([
    once(lines, "line").then(([line]) => String(line)),
    once(lines, "close").then(async () => {
      throw new Error(`it ended without a line: ${await stderr}`);
    }),
  ]);
  // Not every test waits for these, and one closes the pipe.
  for (const awaited of [firstLine, stdout]) awaited.catch(() => undefined);
  return {
    child,
    stdout,
    stderr,
    ended: once(child, "close").then(([code, signal]) => (code ?? signal) as number | string),
    firstLine,
  };
}
