// npm run mutation [-- OPTION …]
// Stryker on the modules that decide about a delivery. Options are those of `stryker run`, such as
// `--mutate src/handling/claims.ts`.
import { execFileSync, spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));

const changedAt = (file: string): number =>
  statSync(pathOf(file), { throwIfNoEntry: false })?.mtimeMs ?? 0;

if (changedAt("node_modules/.package-lock.json") < changedAt("package-lock.json")) {
  execFileSync("npm", ["ci"], { cwd: pathOf("."), stdio: "inherit" });
}
// In the repository's root: Stryker copies the folder in which it runs.
const { status } = spawnSync(
  process.execPath,
  [
    pathOf("node_modules/@stryker-mutator/core/bin/stryker.js"),
    "run",
    pathOf("stryker.config.json"),
    ...process.argv.slice(2),
  ],
  { cwd: pathOf("../.."), stdio: "inherit" },
);
process.exitCode = status ?? 1;
