import { execSync } from "node:child_process";
import { cpSync, rmSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { HERE } from "./platforms.js";

const changedAt = (file: string): number =>
  statSync(new URL(file, HERE), { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Installs the platforms where the lockfile asks for others, and the package as it has been built. */
export function install(): void {
  if (changedAt("node_modules/.package-lock.json") < changedAt("package-lock.json")) {
    // Not `npm ci`: it insists on builds for other systems, which registries do not always have.
    execSync("npm install --no-save --silent", { cwd: fileURLToPath(HERE), stdio: "inherit" });
  }
  // A copy and no link: bundlers follow links to files outside of their root.
  const target = new URL("node_modules/identity-gateway-webhooks/", HERE);
  rmSync(target, { recursive: true, force: true });
  for (const path of ["package.json", "dist"]) {
    cpSync(new URL(`../../${path}`, HERE), new URL(path, target), { recursive: true });
  }
}
