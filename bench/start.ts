// npm run bench [-- partner | stores | queues | telemetry | soak], npm run bench:check
// Builds the package, installs the other libraries, compiles the benchmark, and runs one command of it.
// `npm run bench -- http` measures and prints only that part of `npm run bench`.
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PARTS = ["in-process", "http", "memory", "cold-start"];
/** Files of `src/`. */
const COMMANDS = ["run", "check", "partner", "stores", "queues", "telemetry", "soak", ...PARTS];
/** The commands that use the SQLite driver, which `npm ci` does not compile. */
const WITH_SQLITE = ["partner", "stores", "queues", "soak"];

const BENCH = fileURLToPath(new URL(".", import.meta.url));
const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));

const [command = "run", ...options] = process.argv.slice(2);
if (!COMMANDS.includes(command)) {
  process.stderr.write(`${command} is none of ${PARTS.join(", ")}\n`);
  process.exit(2);
}

if (WITH_SQLITE.includes(command)) run(REPOSITORY, "tsx test/support/sqlite/build-driver.ts");
run(REPOSITORY, "npm run --silent build");
// Before `tsup`, which bundles the installed package into one of the files.
if (changedAt("node_modules/.package-lock.json") < changedAt("package-lock.json")) {
  run(BENCH, "npm ci");
}
run(BENCH, "tsup");
if (command === "run") run(BENCH, "tsc");
run(BENCH, `node dist/${command}.js`, options);

function run(cwd: string, line: string, more: readonly string[] = []): void {
  const [program = "", ...args] = line.split(" ");
  const { status } = spawnSync(program, [...args, ...more], { cwd, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

function changedAt(file: string): number {
  return statSync(BENCH + file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
