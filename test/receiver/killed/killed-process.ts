import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { REPOSITORY } from "../../support/package/installed-package.js";
import type { Role } from "./run-facts.js";

/** Starts `receiver-process.ts`. */
export function startProcess(role: Role) {
  const program = "test/receiver/killed/receiver-process.ts";
  const argv = ["--import", "tsx", program, JSON.stringify(role)];
  const child = spawn(process.execPath, argv, {
    cwd: REPOSITORY,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  return { child, ended, lines: createInterface({ input: child.stdout }) };
}

/** A receiver that starts again after each kill. */
export function startReceiver(role: Role) {
  /** The processes that were killed, by pid. */
  const killed = new Set<number>();
  const start = () => {
    const { child, ended, lines } = startProcess(role);
    const port = once(lines, "line").then(([line]) => Number(line));
    const failed = ended.then(() => Promise.reject(new Error("the receiver ended by itself")));
    failed.catch(() => undefined);
    return { child, port: Promise.race([port, failed]) };
  };
  let current = start();
  return {
    killed,
    /** Where it receives: waits for a process that has just started. */
    url: async () => `http://127.0.0.1:${await current.port}/`,
    kill(): void {
      killed.add(current.child.pid ?? 0);
      current.child.kill("SIGKILL");
      current = start();
    },
    close(): void {
      current.child.kill("SIGKILL");
    },
  };
}
