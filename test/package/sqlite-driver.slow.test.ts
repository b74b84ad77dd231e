import { execFile, execFileSync, type ExecFileOptionsWithStringEncoding } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { expect, it } from "vitest";
import { REPOSITORY } from "../support/package/installed-package.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const TSX = createRequire(import.meta.url).resolve("tsx");
const SCRIPT = path.join(REPOSITORY, "test/support/sqlite/build-driver.ts");

type Options = Omit<ExecFileOptionsWithStringEncoding, "encoding">;

function buildDriver(settings: Options): Promise<{ code: number; output: string }> {
  const options = { ...settings, encoding: "utf8" } as const;
  return new Promise((resolve) => {
    execFile(process.execPath, ["--import", TSX, SCRIPT], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` });
    });
  });
}

/** The path of a program. */
function find(program: string): string {
  return execFileSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).trim();
}

it("npm ci runs no install script, so it needs no compiler", () => {
  const value = execFileSync("npm", ["config", "get", "ignore-scripts"], {
    cwd: REPOSITORY,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  expect(value.trim()).toBe("true");
});

it("the build of the SQLite driver prints nothing if the driver is already compiled", async () => {
  expect(await buildDriver({ cwd: REPOSITORY })).toEqual({ code: 0, output: "" });
});

it("the build of the SQLite driver says what to install if there is no compiler", async () => {
  const from = path.join(REPOSITORY, "node_modules/better-sqlite3");
  const to = folder.at("node_modules/better-sqlite3");
  mkdirSync(to, { recursive: true });
  for (const part of ["package.json", "lib", "binding.gyp"]) {
    cpSync(path.join(from, part), path.join(to, part), { recursive: true });
  }
  const manifest = { private: true, dependencies: { "better-sqlite3": "*" } };
  folder.write("package.json", JSON.stringify(manifest));
  const bin = folder.at("bin");
  mkdirSync(bin);
  for (const program of ["node", "npm", "env", "sh"]) {
    symlinkSync(find(program), path.join(bin, program));
  }

  // Without the variable, a machine with Internet access downloads the binary.
  const env = {
    ...process.env,
    PATH: bin,
    // Where no compiled one is kept.
    XDG_CACHE_HOME: folder.at(),
    npm_config_build_from_source: "true",
  };
  expect(await buildDriver({ cwd: folder.at(), env })).toEqual({
    code: 1,
    output:
      "compiling better-sqlite3, once: about a minute\n" +
      "better-sqlite3 cannot be compiled: install Python 3, make and a C++ compiler. " +
      "For details, run: npm rebuild better-sqlite3 --ignore-scripts=false\n",
  });
});
