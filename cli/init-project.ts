import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { UsageError } from "./exit.js";

/** What `init` reads of a package.json. */
export interface PackageJson {
  readonly type?: string;
  readonly packageManager?: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** How a package manager adds packages, adds tools, and runs a program of a package. */
const MANAGERS = {
  npm: { add: "npm install", addTools: "npm install --save-dev", run: "npx" },
  pnpm: { add: "pnpm add", addTools: "pnpm add --save-dev", run: "pnpm exec" },
  yarn: { add: "yarn add", addTools: "yarn add --dev", run: "yarn" },
  bun: { add: "bun add", addTools: "bun add --dev", run: "bunx" },
} as const;

const LOCK_FILES: Readonly<Record<string, keyof typeof MANAGERS>> = {
  "pnpm-lock.yaml": "pnpm",
  "yarn.lock": "yarn",
  "bun.lock": "bun",
  "bun.lockb": "bun",
  "package-lock.json": "npm",
};

/** A folder that `init` writes into, and what it follows there. */
export type Project = ReturnType<typeof readProject>;

/** Reads a project. Throws `UsageError` for a package.json that is no JSON. */
export function readProject(folder: string) {
  const around = foldersAround(folder);
  const all = around.map(readPackageJson);
  const [found] = all;
  const files = found === undefined ? [] : Array.from(sourcesIn(folder));
  const own = packagesOf(found);
  const manager = managerOf(around, all);
  const isThere = (file: string): boolean => existsSync(path.join(folder, file));
  return {
    found,
    own,
    /** Also those of the folders around it, in a monorepo. */
    packages: all.flatMap(packagesOf),
    manager,
    /** Its code, by its path in the folder. No tests. */
    sources: files.filter((file) => !TEST.test(file)),
    aTest: files.find((file) => TEST.test(file)),
    runner: found === undefined ? undefined : runnerOf(around, all, manager.run),
    isTypeScript:
      found === undefined ||
      isThere("tsconfig.json") ||
      own.some((name) => ["typescript", "tsx", "ts-node"].includes(name)),
    isThere,
    read: (file: string): string => readFileSync(path.join(folder, file), "utf8"),
  };
}

function managerOf(around: readonly string[], all: readonly (PackageJson | undefined)[]) {
  const locks = around.flatMap((at) =>
    Object.entries(LOCK_FILES).filter(([file]) => existsSync(path.join(at, file))),
  );
  const named = all.map((one) => one?.packageManager?.split("@")[0]);
  const name = [locks[0]?.[1], ...named].find((one) => one !== undefined) ?? "npm";
  return Object.hasOwn(MANAGERS, name) ? MANAGERS[name as keyof typeof MANAGERS] : MANAGERS.npm;
}

/** The names of the packages that a package.json asks for. */
function packagesOf(found: PackageJson = {}): readonly string[] {
  return Object.keys({ ...found.dependencies, ...found.devDependencies });
}

/** The folder and those above it, up to the root of its repository. */
function foldersAround(folder: string): readonly [string, ...string[]] {
  const own = path.resolve(folder);
  const all: [string, ...string[]] = [own];
  for (let at = own; ; at = path.dirname(at)) {
    if (at !== own) all.push(at);
    if ([".git", ...Object.keys(LOCK_FILES)].some((file) => existsSync(path.join(at, file)))) {
      return all;
    }
    if (at === path.dirname(at)) return [own];
  }
}

/** The test runner of the project or of a folder above. It runs in the folder that has its configuration. */
function runnerOf(
  around: readonly [string, ...string[]],
  all: readonly (PackageJson | undefined)[],
  run: string,
) {
  const [folder] = around;
  for (const [at, found] of all.entries()) {
    const name = ["vitest", "jest"].find((one) => packagesOf(found).includes(one));
    if (name === undefined) continue;
    const scripts = Object.values(found?.scripts ?? {}).join();
    const options = scripts.includes("experimental-vm-modules")
      ? "NODE_OPTIONS=--experimental-vm-modules "
      : "";
    const root = around[at] ?? folder;
    const call = `${options}${run} ${name === "jest" ? name : `${name} run`}`;
    const pathOf = (file: string): string => path.relative(root, path.join(folder, file));
    const commandOf = (file: string): string =>
      root === folder
        ? `${call} ${file}`
        : `(cd '${path.relative(folder, root)}' && ${call} ${pathOf(file)})`;
    return { name, pathOf, commandOf };
  }
  return undefined;
}

const TEST = /[.-](?:test|spec)\.[cm]?[jt]sx?$|(?:^|\/)__tests__\//;
const LEFT_OUT = /^(?:\..*|node_modules|dist|build|out|coverage)$/;

/** The files of code, shallow ones first. */
function* sourcesIn(folder: string, below = "", depth = 0): Generator<string> {
  const entries = readdirSync(path.join(folder, below), { withFileTypes: true });
  for (const entry of entries) {
    const isCode = /\.[cm]?[jt]sx?$/.test(entry.name) && !/\.d\.[cm]?ts$/.test(entry.name);
    if (entry.isFile() && isCode) yield path.posix.join(below, entry.name);
  }
  for (const { name } of entries.filter((entry) => entry.isDirectory() && depth < 6)) {
    const isPackage = existsSync(path.join(folder, below, name, "package.json"));
    if (LEFT_OUT.test(name) || isPackage) continue;
    yield* sourcesIn(folder, path.posix.join(below, name), depth + 1);
  }
}

function readPackageJson(folder: string): PackageJson | undefined {
  const file = path.join(folder, "package.json");
  if (!existsSync(file)) return undefined;
  try {
    return Object(JSON.parse(readFileSync(file, "utf8"))) as PackageJson;
  } catch {
    throw new UsageError("package.json cannot be read as JSON");
  }
}
