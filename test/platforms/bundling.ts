import { createRequire } from "node:module";

const ESBUILD = createRequire(import.meta.url).resolve("esbuild/bin/esbuild");

/** The command that bundles an app with esbuild for a runtime that has no packages of its own. */
export function bundling(
  entry: string,
  outfile: string,
  conditions: string,
  format: "esm" | "iife" = "esm",
): readonly [program: string, ...args: string[]] {
  const options = ["--bundle", "--log-level=error", `--format=${format}`, `--outfile=${outfile}`];
  return [ESBUILD, entry, ...options, `--conditions=${conditions}`];
}
