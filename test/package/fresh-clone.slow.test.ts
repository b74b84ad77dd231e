import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { missingPrometheus } from "../alerts/prometheus.js";
import { CACHE } from "../support/cached.js";
import { DOCUMENTS } from "../support/package/documents.js";
import { rowsOfRun } from "../support/extent.js";
import { REPOSITORY, withoutRunner } from "../support/package/installed-package.js";
import { textOf } from "../support/package/sources.js";
import { hasPostgres } from "../support/postgres/postgres-server.js";

/** A command of the repository. `npx tsx server.ts` and such are commands of a partner's project. */
const COMMAND =
  /\bnpm (?:run (?:--silent )?[a-z][a-z:-]*[a-z]|test)(?: -- [^`#|"\n]+)?|\bnpx (?:vitest|tsx [a-z]+\/)[^`#"\n,;)]*|\bnode (?:bench|fixtures)\/[\w./-]+\.[cm]?js/g;

/** The commands that a text names, each as it is typed. */
function commandsIn(text: string): readonly string[] {
  return Array.from(text.matchAll(COMMAND), ([command]) =>
    command
      .replace("--silent ", "")
      // The number that the last run of `npm run faults` was started with.
      .replace(/--seed \d+/, "--seed N")
      .trim()
      // The end of a sentence.
      .replace(/\.$/, ""),
  );
}

/** The comments of a script, one a line. */
function commentsOf(file: string): string {
  const lines = textOf(file).split("\n");
  return lines.filter((line) => /^\s*(?:\/\/|\/?\*|#)/.test(line)).join("\n");
}

/** The commands of the repository: those that documents and comments name, and every script of package.json. */
function repositoryCommands(): readonly string[] {
  const { scripts } = JSON.parse(textOf("package.json")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const sources = execFileSync("git", ["ls-files", "*.ts", "*.js", "*.mjs", "*.yml", ".ci"], {
    cwd: REPOSITORY,
    encoding: "utf8",
  });
  const found = [
    ...Object.keys(scripts).map((name) => (name === "test" ? "npm test" : `npm run ${name}`)),
    ...DOCUMENTS.flatMap((file) => commandsIn(textOf(file))),
    ...sources
      .trim()
      .split("\n")
      .flatMap((file) => commandsIn(commentsOf(file))),
  ];
  return [...new Set(found)].sort();
}

/** The repository as `git clone` and `npm ci` leave it, in a temporary folder. */
type FreshClone = ReturnType<typeof freshClone>;

/** What commands make in node_modules: `npm ci` does not compile, and caches are filled by use. */
const NOT_FROM_NPM_CI = ["better-sqlite3/build", ".vite", ".vite-temp", ".cache"];
const TERM_MS = 5_000;

/**
 * Clones the repository with the changes that are not committed. What many commands do first takes most of the time, so
 * it is done once: `npm run build` (40 s of processor time) copies what the repository has built, the SQLite driver
 * (70 s) is taken from the cache, and a second `npm ci` in a folder below links to the files of the first.
 */
function freshClone() {
  const folder = mkdtempSync(path.join(tmpdir(), "igw-clone-"));
  // PostgreSQL, which runs as another user, has its data in there.
  chmodSync(folder, 0o755);
  const clone = path.join(folder, "repository");
  const temporary = path.join(folder, "tmp");
  const tools = path.join(folder, "tools");
  cloneTo(clone);
  writeNpm(tools);
  const manifest = path.join(clone, "package.json");
  const quick = withBuilt(readFileSync(manifest, "utf8"));
  const env = {
    ...withoutRunner(),
    TMPDIR: temporary,
    FRESH_CLONE: folder,
    NO_COLOR: "1",
    // Of what an earlier clone has kept only the SQLite driver.
    XDG_CACHE_HOME: cacheWithDriver(folder),
    PATH: `${tools}:${process.env["PATH"] ?? ""}`,
  };
  const git = (...args: readonly string[]): unknown => execFileSync("git", args, { cwd: clone });
  git("update-index", "--assume-unchanged", "package.json");

  const reset = (): void => {
    rmSync(temporary, { recursive: true, force: true });
    mkdirSync(temporary);
    chmodSync(temporary, 0o777);
    git("checkout", "--quiet", ".");
    git("clean", "-qxdff", "--exclude=/node_modules");
    for (const made of NOT_FROM_NPM_CI) {
      rmSync(path.join(clone, "node_modules", made), { recursive: true, force: true });
    }
    writeFileSync(manifest, quick);
  };

  return {
    /**
     * Ends what the last command left running, removes what it made, and starts a shell command. Stops it, with every
     * process that it started, as soon as its output matches `until`. Without `until` it waits for the end.
     */
    async start(command: string, until?: RegExp) {
      // Also a command whose test ran out of time, which would disturb this one.
      await killAll(folder);
      reset();
      const child = spawn("bash", ["-c", command], {
        cwd: clone,
        env,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      });
      const closed = once(child, "close");
      let output = "";
      const hasBegun = await new Promise<boolean>((resolve) => {
        const read = (data: Buffer): void => {
          output += stripVTControlCharacters(data.toString());
          if (until?.test(output) === true) resolve(true);
        };
        child.stdout.on("data", read);
        child.stderr.on("data", read);
        child.once("close", () => resolve(false));
      });
      if (hasBegun) await stop(child, folder);
      await closed;
      return { output, hasBegun, code: child.exitCode };
    },
    /** Stops what still runs, and removes the folder. */
    remove() {
      for (const pid of processesOf(folder)) signal(pid, "SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function cloneTo(clone: string): void {
  const git = (cwd: string, ...args: readonly string[]): string =>
    execFileSync("git", args, { cwd, encoding: "utf8", maxBuffer: Number.POSITIVE_INFINITY });
  git(REPOSITORY, "clone", "--quiet", REPOSITORY, clone);
  const changes = git(REPOSITORY, "diff", "--binary", "HEAD");
  if (changes !== "") {
    execFileSync("git", ["apply", "-"], { cwd: clone, input: changes });
    git(clone, "add", "--all");
    const author = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
    git(clone, ...author, "commit", "--quiet", "--message", "not committed yet");
  }
  // Links to the same files, which takes a second where `npm ci` takes 30. Another file system gets copies.
  const copy = `cp -al node_modules '${clone}' 2>/dev/null || cp -a node_modules '${clone}'`;
  execFileSync("bash", ["-c", copy], { cwd: REPOSITORY });
}

/** A cache folder that holds the compiled SQLite driver, if this machine has compiled it. */
function cacheWithDriver(folder: string): string {
  const cache = path.join(folder, "cache");
  const kept = path.join(cache, path.basename(CACHE));
  mkdirSync(kept, { recursive: true });
  execFileSync("bash", ["-c", `cp -a '${CACHE}'/better-sqlite3-* '${kept}' 2>/dev/null || true`]);
  return cache;
}

/** Writes an `npm` whose `ci` keeps what it installs, for the next time. */
function writeNpm(tools: string): void {
  const npm = execFileSync("bash", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
  const lines = [
    "#!/usr/bin/env bash",
    `[[ "$*" == ci ]] || exec '${npm}' "$@"`,
    `kept='${tools}'/$(basename "$PWD")`,
    'if [[ -d "$kept" ]]; then cp -al "$kept" node_modules',
    `else '${npm}' ci && cp -al node_modules "$kept"; fi`,
  ];
  mkdirSync(tools);
  writeFileSync(path.join(tools, "npm"), `${lines.join("\n")}\n`, { mode: 0o755 });
}

/** package.json with a `build` that copies what the repository has built, if it has. */
function withBuilt(manifest: string): string {
  const parsed = JSON.parse(manifest) as { scripts: Record<string, string> };
  const built = path.join(REPOSITORY, "dist");
  if (existsSync(built)) parsed.scripts["build"] = `cp -R '${built}' .`;
  return JSON.stringify(parsed, undefined, 2);
}

/** Asks the process group to end, as Ctrl-C does, and kills it if it does not. */
async function stop(child: ChildProcess, folder: string): Promise<void> {
  const group = -(child.pid ?? Number.NaN);
  signal(group, "SIGTERM");
  const deadline = Date.now() + TERM_MS;
  while (processesOf(folder).length > 0 && Date.now() < deadline) await wait(50);
  signal(group, "SIGKILL");
}

/** Sends a signal to a process, or to a group by its negative number, that may have ended. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

/** Kills what has left the process group, such as a server that was started with a group of its own. */
async function killAll(folder: string): Promise<void> {
  for (let left = processesOf(folder); left.length > 0; left = processesOf(folder)) {
    for (const pid of left) signal(pid, "SIGKILL");
    await wait(20);
  }
}

/** The processes that run in the folder, or were started from it. */
function processesOf(folder: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return (
          readlinkSync(`/proc/${pid}/cwd`).startsWith(`${folder}/`) ||
          readFileSync(`/proc/${pid}/environ`, "utf8").includes(`FRESH_CLONE=${folder}\0`)
        );
      } catch {
        // It has ended, or belongs to another user.
        return false;
      }
    })
    .map(Number);
}

/** It prints nothing of its own: it ends, with exit code 0. */
const ENDS = undefined;

/** Every command, and the first line that shows that it does its work: past what it installs and compiles. */
const FIRST_LINES: Readonly<Record<string, RegExp | undefined>> = {
  "npm run demo": /handled once, \d+ lost/,
  "npm run demo -- --monitor": /handled once, \d+ lost/,
  "npm run demo -- --store sqlite": /^The gateway delivers to/m,
  "npm run fuzz": /RUN {2}v/,
  "npm run mutation": /Instrumented \d+ source file/,
  "npm run faults": /^.+: started$/m,
  "npm run alerts": /^simulating a month/m,
  "npm run flaws": /RUN {2}v/,
  "npx tsx test/model/print-model.ts": /exploring the models/,
  "npm run platforms": /^installing the packages of/m,
  "npm run generate": ENDS,
  "npm run docs:build": /reading the API from the docstrings/,
  "node fixtures/generate.mjs": ENDS,
  "npm run bench": /measuring in-process/,
  "npm run bench:check": /^run 1: /m,
  "npm run bench -- stores": /the engine and 2 receivers run/,
  "npm run bench -- partner": /an empty handler: measured/,
  "npm run bench -- queues": /the engine and 2 receivers run/,
  "npm run bench -- soak": /the receiver runs/,
  "npm run bench -- telemetry": /^measuring /m,
  "npm run release:check": /[✓✗] the tree is clean/,
  "npm run format": /^\S+ \d+ms/m,
  "npx vitest test/handling": /(?:RUN|DEV) {2}v/,
  "npx vitest run --project slow-web test/receiver": /RUN {2}v/,
};

/** Commands that do not start here, and why. */
const LEFT_OUT: readonly (readonly [command: RegExp, reason: string])[] = [
  [/^npm (?:test|run test:all)\b/, ".ci/run runs it in a fresh clone"],
  [/^npm run build$/, "`npm run test:all` begins with it"],
  [/^npm run check$/, ".ci/run runs it"],
  [/^npm run release$/, "it publishes"],
  [/^npm run demo -- --store (?:redis|postgres|mysql)/, "the demo's tests start a server for it"],
  [/^npm run demo -- (?:folder|path\/)/, "the words stand for something of the reader's"],
  [/^npm run bench -- stores (?:…|--only .* --before )/, "the words stand for the reader's own"],
  [/^npm run bench -- (?:in-process|http)$/, "`npm run bench` starts all parts"],
  [/^npm run bench -- (?:stores --(?:remembered|node PATH)|soak --only .*)$/, "as without options"],
  [/^npm run (?:faults -- --seed N|platforms -- --fast)$/, "as without options"],
  [/^npm run alerts -- --only\b/, "it begins as `npm run alerts`"],
  [/^npm run platforms -- peers\b/, "it begins as `npm run platforms`"],
  [/^npx tsx test\/support\/sqlite\/build-driver/, "it has a test of its own"],
  [/^npx vitest run$/, "it runs the tests of the reader"],
  [/^npx vitest run --coverage$/, "it needs what `npm run test:all` prepares"],
  [/^npx tsx test\/flawed\/print-slow-doctor/, "a part of `npm run flaws`"],
  [/^npx tsx test\/site\/screenshots/, "it needs Chromium and the built site"],
  [/^npx tsx examples\//, "the tests of the examples start each, after `npm run build`"],
];

const MISSING: Readonly<Record<string, string | undefined>> = {
  "npm run alerts": missingPrometheus,
  "npm run bench -- stores": hasPostgres ? undefined : "no PostgreSQL",
  "npm run bench -- queues": hasPostgres ? undefined : "no PostgreSQL",
  "npm run bench -- soak": hasPostgres ? undefined : "no PostgreSQL",
};

/** Started in each run: what a newcomer types first. The others install packages or compile, which takes minutes. */
const OF_EACH_RUN = /^npm run (?:demo -- --store sqlite|fuzz|flaws|format)$|^npx vitest test/;

const commands = repositoryCommands();
const isLeftOut = (command: string): boolean => LEFT_OUT.some(([left]) => left.test(command));

let clone: FreshClone;

beforeAll(() => {
  clone = freshClone();
});
afterAll(() => {
  clone.remove();
});

it("every command that the documents or package.json name is in the table, or left out for a reason", () => {
  const unknown = commands.filter((command) => !(command in FIRST_LINES) && !isLeftOut(command));
  expect(unknown).toEqual([]);
});

it("every command of the table is named by a document or by package.json", () => {
  expect(Object.keys(FIRST_LINES).filter((command) => !commands.includes(command))).toEqual([]);
  expect(LEFT_OUT.filter(([left]) => !commands.some((one) => left.test(one)))).toEqual([]);
});

it.for(rowsOfRun(Object.keys(FIRST_LINES), (command) => OF_EACH_RUN.test(command)))(
  "%s works as the first command in a fresh clone",
  async (command, context) => {
    const missing = MISSING[command];
    if (missing !== undefined) {
      expect(process.env["CI"], missing).not.toBe("true");
      context.skip(missing);
    }
    const until = FIRST_LINES[command];
    const { output, hasBegun, code } = await clone.start(command, until);
    if (until === ENDS) expect(code, output).toBe(0);
    else expect(hasBegun, output).toBe(true);
  },
);
