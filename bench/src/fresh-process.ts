import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** How to start a child. */
export interface FreshProcessOptions {
  readonly args?: readonly string[];
  /** Options of Node itself. */
  readonly execArgv?: readonly string[];
  /** The Node that runs it. Default the one that runs this process. */
  readonly execPath?: string;
}

/**
 * Runs a script of the benchmark in its own process, and returns the message that it sends. Its standard
 * error is shown.
 *
 * @throws Error if it ends without a message, or with a code other than 0.
 */
export function runFresh(
  script: URL,
  { args = [], execArgv = [], execPath = process.execPath }: FreshProcessOptions = {},
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let reply: { readonly message: unknown } | undefined;
    const child = fork(fileURLToPath(script), args, {
      execArgv: [...execArgv],
      execPath,
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    child.on("message", (message) => {
      reply = { message };
    });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0 && reply !== undefined) resolve(reply.message);
      else reject(new Error(`${fileURLToPath(script)} ended with code ${String(code)}`));
    });
  });
}

/** Sends the one message that `runFresh` waits for. */
export function reply(message: unknown): void {
  if (process.send === undefined) throw new Error("this script is run by another one");
  process.send(message);
}
