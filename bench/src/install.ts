import { execSync } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

// Installs the contenders if they are missing or older than the lockfile.
const changedAt = (file: string): number =>
  statSync(new URL(file, import.meta.url), { throwIfNoEntry: false })?.mtimeMs ?? 0;

if (changedAt("../node_modules/.package-lock.json") < changedAt("../package-lock.json")) {
  execSync("npm ci", { cwd: fileURLToPath(new URL("..", import.meta.url)), stdio: "inherit" });
}
