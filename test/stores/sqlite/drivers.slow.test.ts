import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rowsOfRun } from "../../support/extent.js";
import { BUN, pathIn } from "../../platforms/install.js";
import { describeService } from "../../support/describe-service.js";
import { REPOSITORY } from "../../support/package/installed-package.js";
import { allCases, SLOW_DISK_MS } from "../../support/sqlite/all-cases.js";
import { betterSqlite3, libsql, type SqliteDriverName } from "../../support/sqlite/drivers.js";
import { SQLITE_RUNTIMES } from "../../support/sqlite/runtimes.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

const folder = temporaryFolder(afterAll);

describe.each([betterSqlite3, libsql])("the SQLite stores on $name", (driver) => {
  it.each(allCases(driver))(
    "$title",
    async ({ run }) => {
      await run();
    },
    SLOW_DISK_MS,
  );
});

/** A runtime with a driver of its own, and the program and arguments that come before the script. */
interface OtherRuntime {
  readonly name: string;
  readonly driver: SqliteDriverName;
  readonly command: readonly [program: string, ...args: string[]];
}

const DENO = pathIn("deno", "node_modules/@deno/linux-x64-glibc/deno");
const NODE = SQLITE_RUNTIMES.find(({ driver }) => driver === "node:sqlite")?.node;

const OTHER_RUNTIMES: readonly OtherRuntime[] = [
  { name: "node:sqlite on Node", driver: "node:sqlite", command: [NODE ?? "a newer Node"] },
  { name: "bun:sqlite on Bun", driver: "bun:sqlite", command: [BUN] },
  { name: "node:sqlite on Bun", driver: "node:sqlite", command: [BUN] },
  { name: "node:sqlite on Deno", driver: "node:sqlite", command: [DENO, "run", "--allow-all"] },
];
/** In each run Node's own: the statements are the same on each, and the drivers of Bun and Deno seldom change. */
const RUNTIMES = rowsOfRun(OTHER_RUNTIMES, ({ name }) => name.endsWith("on Node"));

/** Why a runtime cannot run here; undefined if it can. */
function missingRuntime({ command: [program] }: OtherRuntime): string | undefined {
  if (existsSync(program)) return undefined;
  return `${path.basename(program)} is not installed (npx tsx test/platforms/install-for-tests.ts)`;
}

/** What became of one case. */
interface CaseResult {
  readonly title: string;
  readonly error?: string;
}

/** Runs every case in one process of the runtime. Rejects with its errors if it ends early. */
async function runCasesOn({ driver, command }: OtherRuntime): Promise<CaseResult[]> {
  const bundle = folder.at(`${path.basename(command[0])}-${driver.replace(":", "-")}.mjs`);
  const esbuild = path.join(REPOSITORY, "node_modules/esbuild/bin/esbuild");
  const bundling = ["--bundle", "--format=esm", "--platform=node", "--external:bun:sqlite"];
  const script = "test/support/sqlite/cases-child.ts";
  await promisify(execFile)(esbuild, [script, ...bundling, `--outfile=${bundle}`], {
    cwd: REPOSITORY,
  });
  const [program, ...args] = command;
  const child = spawn(program, [...args, bundle, driver], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close");
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with ${String(code)}: ${errors}`);
  return output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as CaseResult);
}

const titles = allCases(betterSqlite3).map(({ title }) => title);

describe("the SQLite stores on other runtimes", () => {
  const results = new Map<string, readonly CaseResult[]>();
  beforeAll(async () => {
    const present = RUNTIMES.filter((runtime) => missingRuntime(runtime) === undefined);
    // At the same time: the cases wait for leases to end.
    await Promise.all(
      present.map(async (runtime) => results.set(runtime.name, await runCasesOn(runtime))),
    );
  });

  for (const runtime of RUNTIMES) {
    describeService(runtime.name, missingRuntime(runtime), () => {
      it(`${runtime.name} runs every case of better-sqlite3`, () => {
        expect(results.get(runtime.name)?.map(({ title }) => title)).toEqual(titles);
      });

      it.each(titles)(`${runtime.name}: %s`, (title) => {
        const found = results.get(runtime.name)?.filter((result) => result.title === title) ?? [];
        expect(found.length).toBeGreaterThan(0);
        for (const { error } of found) expect(error).toBeUndefined();
      });
    });
  }
});
