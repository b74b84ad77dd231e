// npx tsx test/support/sqlite/build-driver.ts
// Compiles better-sqlite3 if this Node cannot load it yet. `npm ci` only unpacks it (.npmrc:
// ignore-scripts), so that the demo starts sooner and needs no compiler.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { restore, store } from "../cached.js";

const REBUILD = "npm rebuild better-sqlite3 --ignore-scripts=false";

/** In a process of its own: a binary that was compiled for another Node cannot be loaded twice. */
function isBuilt(): boolean {
  const openDatabase = "new (require('better-sqlite3'))(':memory:')";
  return spawnSync(process.execPath, ["--eval", openDatabase]).status === 0;
}

const BINARY = "node_modules/better-sqlite3/build/Release/better_sqlite3.node";
const { version } = JSON.parse(
  readFileSync("node_modules/better-sqlite3/package.json", "utf8"),
) as { version: string };
const { platform, arch, versions, env } = process;
/** `.ci/run` compiles with less optimization, which the bench must not get. */
const KEY = `better-sqlite3-${version}-${platform}-${arch}-${versions.modules}${env["CFLAGS"] ?? ""}`;

if (!isBuilt()) restore(KEY, BINARY);
if (!isBuilt()) {
  process.stderr.write("compiling better-sqlite3, once: about a minute\n");
  spawnSync(REBUILD, { shell: true });
  if (!isBuilt()) {
    process.stderr.write(
      "better-sqlite3 cannot be compiled: install Python 3, make and a C++ compiler. " +
        `For details, run: ${REBUILD}\n`,
    );
    process.exitCode = 1;
  } else {
    store(KEY, BINARY);
  }
}
