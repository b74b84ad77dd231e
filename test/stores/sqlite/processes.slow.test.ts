import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { REPOSITORY } from "../../support/package/installed-package.js";
import { libsql } from "../../support/sqlite/drivers.js";
import { sqliteFolder } from "../../support/sqlite/folder.js";
import { SQLITE_RUNTIMES, type SqliteRuntime } from "../../support/sqlite/runtimes.js";

const KINDS = ["store", "transactions"] as const;
const PROCESSES = 4;
const LOAD_MS = 5_000;

/** Starts `work-child.ts` on a file. It is killed after the test. */
function startProcess({ node, driver }: SqliteRuntime, file: string, kind: string) {
  const script = ["--no-warnings", "--import", "tsx", "test/support/sqlite/work-child.ts"];
  const argv = [...script, driver, file, kind, String(LOAD_MS)];
  const child = spawn(node, argv, { cwd: REPOSITORY });
  const reader = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  // One that has ended says why by `line`.
  child.stdin.on("error", () => undefined);
  const closed = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  return {
    /** The next line that it writes. Rejects with its standard error if it ends before. */
    async line() {
      const next = await reader.next();
      if (next.done === true) throw new Error(`the process ended: ${errors}`);
      return next.value;
    },
    begin: () => child.stdin.write("go\n"),
  };
}

describe.each(SQLITE_RUNTIMES)("processes with $driver on one file", (runtime) => {
  it.each(KINDS)("busy receivers share the file and answer no 503, with %s", async (kind) => {
    const folder = sqliteFolder(libsql);
    onTestFinished(folder.remove);
    const load = Array.from({ length: PROCESSES }, () => startProcess(runtime, folder.file, kind));
    for (const each of load) expect(await each.line()).toBe("ready");
    for (const each of load) each.begin();
    const lines = await Promise.all(load.map((each) => each.line()));
    const counts = lines.map((line) => JSON.parse(line) as Record<string, number>);
    for (const { handled = 0, ...others } of counts) {
      expect(handled).toBeGreaterThan(0);
      expect(others).toEqual({});
    }
    const shares = counts.map(({ handled = 0 }) => handled);
    const mean = shares.reduce((sum, share) => sum + share) / shares.length;
    expect(Math.min(...shares)).toBeGreaterThan(mean / 4);
  });
});
