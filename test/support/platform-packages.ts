import { execSync } from "node:child_process";
import { mkdirSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const STALE_LOCK_MS = 180_000;

const changedAt = (file: URL): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/**
 * Installs the packages of a folder of `test/platforms/` where its lockfile asks for others. Test files run at
 * the same time, so the first one installs and the others wait.
 */
export async function installPlatform(folder: string): Promise<URL> {
  const root = new URL(`../platforms/${folder}/`, import.meta.url);
  const lock = new URL(".installing/", root);
  const isInstalled = () =>
    changedAt(new URL("node_modules/.package-lock.json", root)) >=
    changedAt(new URL("package-lock.json", root));
  while (!isInstalled()) {
    try {
      mkdirSync(lock);
    } catch {
      if (Date.now() - changedAt(lock) > STALE_LOCK_MS) rmSync(lock, { recursive: true });
      await wait(200);
      continue;
    }
    try {
      // Not `npm ci`: it insists on builds for other systems, which registries do not always have.
      const command = "npm install --no-save --silent --ignore-scripts";
      execSync(command, { cwd: fileURLToPath(root), stdio: "inherit" });
    } finally {
      rmSync(lock, { recursive: true, force: true });
    }
  }
  return root;
}

/** Loads a package of a folder of `test/platforms/`, after `installPlatform`. */
export function loadFrom(root: URL, name: string): unknown {
  return createRequire(new URL("package.json", root))(name) as unknown;
}
