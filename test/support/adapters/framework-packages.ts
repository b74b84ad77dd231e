import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folders whose frameworks the adapter tests and the examples use. */
const FOLDERS = ["fastify", "koa"];

/** Installs the frameworks that have a package of their own, where its lockfile is newer. For vitest. */
export function setup(): void {
  for (const folder of FOLDERS) {
    const here = new URL(`../../platforms/${folder}/`, import.meta.url);
    const changedAt = (file: string): number =>
      statSync(new URL(file, here), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (changedAt("node_modules/.package-lock.json") >= changedAt("package-lock.json")) continue;
    execFileSync("npm", ["ci", "--silent", "--ignore-scripts"], {
      cwd: fileURLToPath(here),
      stdio: "inherit",
    });
  }
}
