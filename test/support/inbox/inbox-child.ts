import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A receiver or a worker in its own process. */
export interface InboxChild {
  /** The next line that it prints. Rejects if the process ends first. */
  readonly line: () => Promise<string>;
  /** Sends SIGKILL and waits until the process has ended. */
  readonly kill: () => Promise<void>;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Starts `inbox-process.ts`. */
export function startInboxChild(
  engine: string,
  url: string,
  queue: string,
  role: "receiver" | "worker",
): InboxChild {
  const args = ["--import", "tsx", "test/support/inbox/inbox-process.ts", engine, url, queue, role];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async line() {
      const next: IteratorResult<string, unknown> = await lines.next();
      if (next.done === true) throw new Error("the child process ended");
      return next.value;
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}
