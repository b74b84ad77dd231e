import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const POLL_MS = 50;

/** What all processes of a test run share. `test/run-folder.ts` names it; a process without a run has its own. */
function runFolder(): string {
  const shared = process.env["TEST_RUN_FOLDER"];
  if (shared !== undefined) return shared;
  const own = mkdtempSync(path.join(tmpdir(), "igw-process-"));
  chmodSync(own, 0o711);
  process.env["TEST_RUN_FOLDER"] = own;
  process.once("exit", () => rmSync(own, { recursive: true, force: true }));
  return own;
}

/** Whether this is the first call with `name` in the run, whichever process makes it. */
export function isFirstInRun(name: string): boolean {
  try {
    mkdirSync(path.join(runFolder(), name));
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes a folder that several test files copy from, once in a run: the first process that asks calls `make`, the
 * others wait for it. Returns its path. A `make` that throws is tried again by the next one that asks.
 */
export function onceInRun(name: string, make: (folder: string) => void): string {
  const folder = path.join(runFolder(), name);
  const [lock, done] = [`${folder}.lock`, `${folder}.done`];
  for (;;) {
    if (existsSync(done)) return folder;
    try {
      mkdirSync(lock);
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
      continue;
    }
    try {
      if (existsSync(done)) return folder;
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
      make(folder);
      writeFileSync(done, "");
      return folder;
    } finally {
      rmSync(lock, { recursive: true });
    }
  }
}
