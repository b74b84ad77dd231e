import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A Node that runs the parts. */
export interface Runtime {
  readonly execPath: string;
  /** The version, without the `v`. */
  readonly version: string;
  /** The name in the tables. */
  readonly label: string;
}

function runtimeOf(execPath: string, version: string): Runtime {
  return { execPath, version, label: `Node ${version.split(".", 1).join("")}` };
}

/** The version of a Node, without the `v`. */
export function versionOf(execPath: string): string {
  return execFileSync(execPath, ["--version"], { encoding: "utf8" }).trim().slice(1);
}

/** The Node that runs this process, and Node 24 if npm has installed it and it is a different one. */
export function findRuntimes(): Runtime[] {
  const running = runtimeOf(process.execPath, process.versions.node);
  const path = fileURLToPath(new URL("../node_modules/node24/bin/node", import.meta.url));
  if (!existsSync(path)) return [running];
  const other = runtimeOf(path, versionOf(path));
  return other.label === running.label ? [running] : [running, other];
}
