import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach } from "vitest";

/** A folder that exists from its first use on. Called once, at the top of a test file. It is removed after each test, or at another hook. */
export function temporaryFolder(removeAt: (remove: () => void) => void = afterEach) {
  let folder: string | undefined;
  removeAt(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    folder = undefined;
  });
  /** The folder, or a path in it. */
  const at = (...names: readonly string[]) => {
    folder ??= mkdtempSync(path.join(tmpdir(), "igw-test-"));
    return path.join(folder, ...names);
  };
  /** Writes a file in it, and returns its path. */
  const write = (name: string, content: string | Uint8Array, mode?: number) => {
    const file = at(name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content, { mode });
    return file;
  };
  return { at, write };
}
