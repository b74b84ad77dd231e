import { afterEach, beforeEach, expect } from "vitest";
import { libsql } from "./drivers.js";
import { sqliteFolder, type SqliteFolder } from "./folder.js";
import { startSqliteProcess, type SqliteProcess, type SqliteProcessOptions } from "./process.js";
import type { SqliteRuntime } from "./runtimes.js";

/** A folder for each test, and processes on its file that are killed after the test. */
export function sqliteProcesses() {
  const processes: SqliteProcess[] = [];
  let folder: SqliteFolder;

  const makeFolder = (): void => {
    folder = sqliteFolder(libsql);
  };
  beforeEach(makeFolder);
  afterEach(async () => {
    for (const started of processes.splice(0)) await started.kill();
    folder.remove();
  });

  /** Starts a script with the file as its first argument after the driver. */
  const start = (
    runtime: SqliteRuntime,
    script: string,
    args: readonly string[] = [],
    options?: SqliteProcessOptions,
  ): SqliteProcess => {
    const started = startSqliteProcess(runtime, script, [folder.file, ...args], options);
    started.ended.catch(() => undefined);
    processes.push(started);
    return started;
  };
  return { folder: () => folder, makeFolder, start };
}

/** Starts several processes that begin to work at the same time. */
export async function startTogether(
  count: number,
  start: () => SqliteProcess,
): Promise<readonly SqliteProcess[]> {
  const started = Array.from({ length: count }, start);
  for (const each of started) expect(await each.line()).toBe("ready");
  for (const each of started) each.send("go");
  return started;
}
