import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect } from "vitest";
import { REPOSITORY } from "../package/installed-package.js";
import { libsql } from "./drivers.js";
import { sqliteFolder, type SqliteFolder } from "./folder.js";
import type { SqliteRuntime } from "./runtimes.js";

/** A process that works on the file of a test. */
type SqliteProcess = ReturnType<typeof startProcess>;

/** Starts `work-child.ts` with the runtime's driver. */
function startProcess({ node, driver }: SqliteRuntime, args: readonly string[]) {
  const script = ["--no-warnings", "--import", "tsx", "test/support/sqlite/work-child.ts"];
  const child = spawn(node, [...script, driver, ...args], { cwd: REPOSITORY });
  const output = createInterface({ input: child.stdout });
  const reader = output[Symbol.asyncIterator]();
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  // Input for a killed process is lost, as intended.
  child.stdin.on("error", () => undefined);
  const closed = once(child, "close");

  return {
    /** The next line that it writes. Rejects with its standard error if it ends before. */
    async line() {
      const next = await reader.next();
      if (next.done === true) throw new Error(`the process ended: ${errors}`);
      return next.value;
    },
    send(line: string) {
      child.stdin.write(`${line}\n`);
    },
    /** Kills it without warning, and waits until all its output is read. */
    async kill() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

/** A folder for each test, and processes on its file that are killed after the test. */
export function sqliteProcesses(runtime: SqliteRuntime) {
  const processes: SqliteProcess[] = [];
  let folder: SqliteFolder;

  beforeEach(() => {
    folder = sqliteFolder(libsql);
  });
  afterEach(async () => {
    for (const started of processes.splice(0)) await started.kill();
    folder.remove();
  });

  /** Starts a process with the file, the work and its arguments. */
  const start = (...args: (string | number)[]): SqliteProcess => {
    const started = startProcess(runtime, [folder.file, ...args.map(String)]);
    processes.push(started);
    return started;
  };
  return {
    /** Starts several processes that begin to work at the same time. */
    startTogether: async (count: number, ...args: (string | number)[]) => {
      const started = Array.from({ length: count }, () => start(...args));
      for (const each of started) expect(await each.line()).toBe("ready");
      for (const each of started) each.send("go");
      return started;
    },
  };
}
