import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach } from "vitest";

/** A folder that exists from its first use on. */
export interface TemporaryFolder {
  /** The folder, or a path in it. */
  readonly at: (...names: readonly string[]) => string;
  /** Writes a file in it, and returns its path. */
  readonly write: (name: string, content: string | Uint8Array, mode?: number) => string;
}

/** Called once, at the top of a test file. The folder is removed after each test, or at another hook. */
export function temporaryFolder(removeAt: (remove: () => void) => void = afterEach) {
  let folder: string | undefined;
  removeAt(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    folder = undefined;
  });
  const at: TemporaryFolder["at"] = (...names) => {
    folder ??= mkdtempSync(path.join(tmpdir(), "igw-test-"));
    return path.join(folder, ...names);
  };
  const write: TemporaryFolder["write"] = (name, content, mode) => {
    const file = at(name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content, { mode });
    return file;
  };
  return { at, write };
}
