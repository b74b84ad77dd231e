import { execFileSync } from "node:child_process";

/** Puts the tables of `results/` into docs/performance.md and the README. The working directory is `bench/`. */
export function updateDocuments(): void {
  execFileSync("npm", ["run", "docs:performance"], { cwd: "..", stdio: "ignore" });
}
