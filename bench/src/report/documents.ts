import { execFileSync } from "node:child_process";

/** Puts the tables of `results/` into docs/performance.md. The working directory is `bench/`. */
export function updateDocuments(): void {
  const files = ["docs/performance.md"];
  execFileSync("npx", ["tsx", "docs/generate.ts", ...files], { cwd: "..", stdio: "ignore" });
}
