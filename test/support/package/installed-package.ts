import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { onceInRun } from "../once-in-run.js";

/** Path of the checkout. The tests use its development tools. */
export const REPOSITORY = fileURLToPath(new URL("../../..", import.meta.url));

/** The compiler, below the folder of its packages. */
const TSC = "node_modules/typescript/bin/tsc";

/** The compiler of the oldest TypeScript that STABILITY.md supports. */
export const OLDEST_TSC = path.join(REPOSITORY, "test/platforms/typescript-oldest", TSC);

/** The compiler of the newest TypeScript. */
export const NEWEST_TSC = path.join(REPOSITORY, "test/platforms/typescript-7", TSC);

/** A project in a temporary folder with nothing but the packed tarball installed. */
export type InstalledPackage = ReturnType<typeof installPackage>;

/** The built package as `npm pack` packs it, once in a test run. Returns the tarball's path. */
export function pack(): string {
  const folder = onceInRun("tarball", (folder) => {
    npm(["pack", "--pack-destination", folder], REPOSITORY);
  });
  return path.join(folder, readdirSync(folder)[0] ?? "");
}

/** An empty project of the given module type, with the tarball installed. npm installs it once in a test run. */
export function installPackage(type: "module" | "commonjs") {
  const installed = onceInRun("installed", (folder) => {
    writeFileSync(path.join(folder, "package.json"), '{ "private": true }');
    const flags = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
    npm(["install", ...flags, pack()], folder);
  });
  const folder = mkdtempSync(path.join(tmpdir(), `igw-${type}-`));
  const write = (file: string, content: string) => {
    const target = path.join(folder, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, content);
  };
  cpSync(installed, folder, { recursive: true, verbatimSymlinks: true });
  const { dependencies } = JSON.parse(
    readFileSync(path.join(installed, "package.json"), "utf8"),
  ) as { dependencies: object };
  write("package.json", JSON.stringify({ name: "partner", private: true, type, dependencies }));

  return {
    folder,
    /** Writes a file of the project. */
    write,
    /** Copies a file of the checkout into the project. */
    copy(from: string, to: string) {
      cpSync(path.join(REPOSITORY, from), path.join(folder, to));
    },
    /** Links a dependency of the checkout, or of one of its folders, into the project. */
    borrow(dependency: string, from = "") {
      const target = path.join(folder, "node_modules", dependency);
      mkdirSync(path.dirname(target), { recursive: true });
      symlinkSync(path.join(REPOSITORY, from, "node_modules", dependency), target, "dir");
    },
    /** Runs Node in the project and returns its standard output. */
    node(args: readonly string[], environment = {}) {
      return execFileSync(process.execPath, args, {
        cwd: folder,
        encoding: "utf8",
        env: { ...withoutRunner(), ...environment },
      });
    },
    /** Type-checks the files with a compiler, of the checkout unless given. Returns the compiler's errors, or "". */
    typeCheck(compilerOptions: object, files: readonly string[], tsc = path.join(REPOSITORY, TSC)) {
      const config = {
        compilerOptions: {
          target: "ES2022",
          lib: ["ES2023"],
          types: ["node"],
          typeRoots: [path.join(REPOSITORY, "node_modules/@types")],
          strict: true,
          exactOptionalPropertyTypes: true,
          noEmit: true,
          skipLibCheck: false,
          ...compilerOptions,
        },
        files,
      };
      write("tsconfig.json", JSON.stringify(config));
      try {
        return execFileSync(process.execPath, [tsc, "-p", "."], { cwd: folder, encoding: "utf8" });
      } catch (error) {
        return (error as { stdout: string }).stdout;
      }
    },
    remove() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function npm(args: readonly string[], cwd: string): string {
  return execFileSync("npm", args, {
    cwd,
    encoding: "utf8",
    env: withoutRunner(),
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** The environment without what the test runner and npm set: a partner's shell has none of it. */
export function withoutRunner(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|VITEST|NODE_OPTIONS$|NODE_ENV$|NODE_V8_COVERAGE$|TEST$)/.test(name),
  );
  return Object.fromEntries(kept);
}
