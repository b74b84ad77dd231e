import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { TEST_SECRET } from "../deliveries.js";
import { startExample } from "../package/example-process.js";
import { REPOSITORY, installPackage } from "../package/installed-package.js";

/** A process whose streams are pipes. */
export type RunningProcess = ReturnType<typeof startProcess>;

/** The command line as a partner has it: the packed tarball in an empty folder. */
export type InstalledCli = ReturnType<typeof installCli>;

/** Installs the packed package. */
export function installCli() {
  const project = installPackage("commonjs");
  const { folder } = project;
  const binary = path.join(folder, "node_modules/.bin/identity-gateway-webhooks");
  return {
    folder,
    /** The binary's path. */
    binary,
    /** Starts the real binary, in a shell's environment with the test secret. */
    start: (argv: readonly string[], env?: Readonly<Record<string, string | undefined>>) =>
      startProcess(binary, argv, folder, env),
    remove: () => project.remove(),
  };
}

/** Starts `examples/express.ts` on a free port. */
export async function startExpressExample() {
  const example = await startExample("express.ts");
  const url = example.url.replace("localhost", "127.0.0.1");
  return { url, stop: () => void example.kill() };
}

/** Starts `partner-app-process.ts`, whose tables know these accounts alone, with a database in the folder. */
export async function startPartnerApp(folder: string, accounts: readonly number[]) {
  const app = "test/support/cli/partner-app-process.ts";
  const argv = ["--import", "tsx", app, path.join(folder, "alarms.db"), accounts.join()];
  const { child, firstLine } = startProcess(process.execPath, argv, REPOSITORY);
  return { url: await firstLine, stop: () => child.kill("SIGKILL") };
}

/** Starts a process with pipes for its streams. */
function startProcess(
  command: string,
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string | undefined>> = {},
) {
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
    /** The complete output, after the process has ended. */
    stdout,
    stderr,
    /** The exit code, or the signal that ended it. */
    ended: once(child, "close").then(([code, signal]) => (code ?? signal) as number | string),
    /** The first line of standard output; rejects if it ends without one. */
    firstLine,
  };
}
