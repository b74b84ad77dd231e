import { spawn } from "node:child_process";
import { once } from "node:events";
import { symlinkSync } from "node:fs";
import path from "node:path";
import { freePort } from "../free-port.js";
import { REPOSITORY, installPackage, type InstalledPackage } from "./installed-package.js";

/** What `nest new` writes into tsconfig.json, as far as it decides about the result. */
const NEST_COMPILER_OPTIONS = {
  noEmit: false,
  outDir: "dist",
  rootDir: "src",
  target: "ES2023",
  esModuleInterop: true,
  emitDecoratorMetadata: true,
  experimentalDecorators: true,
  skipLibCheck: true,
};

/** The compiler options of a Nest project that are not the same in all. */
const MODULE_OPTIONS = {
  /** That of Nest 10. */
  node10: { module: "commonjs", moduleResolution: "node10", ignoreDeprecations: "6.0" },
  /** That of Nest 11 and 12. */
  nodenext: { module: "nodenext", moduleResolution: "nodenext", isolatedModules: true },
};

/** A Nest project with the packed package and a Nest of `test/platforms/`. */
export interface NestProject extends InstalledPackage {
  /** Compiles the files in `src/` into `dist/`. Returns the compiler's errors, or "". */
  readonly build: (files: readonly string[]) => string;
  /** Runs a compiled test, with the globals of the runner; returns what it says. Throws if it fails. */
  readonly test: (file: string, secret: string) => string;
}

/** Installs the package beside the packages of one major version of Nest. */
export function installForNest(
  nest: "nest-10" | "nest-11" | "nest-12",
  type: "module" | "commonjs",
): NestProject {
  const project = installPackage(type);
  for (const name of ["@nestjs", "reflect-metadata", "rxjs"]) {
    const from = path.join(REPOSITORY, "test/platforms", nest, "node_modules", name);
    symlinkSync(from, path.join(project.folder, "node_modules", name), "dir");
  }
  project.borrow("vitest");
  const options = MODULE_OPTIONS[nest === "nest-10" ? "node10" : "nodenext"];
  return {
    ...project,
    build: (files) => project.typeCheck({ ...NEST_COMPILER_OPTIONS, ...options }, files),
    test(file, secret) {
      const vitest = path.join(REPOSITORY, "node_modules/vitest/vitest.mjs");
      const argv = [vitest, "run", "--globals", "--root", project.folder, file];
      return project.node(argv, { NO_COLOR: "1", GATEWAY_WEBHOOK_SECRET: secret });
    },
  };
}

/** Starts a compiled file of a project and waits until it listens. */
export async function startNestProject({ folder }: NestProject, main: string, secret: string) {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), GATEWAY_WEBHOOK_SECRET: secret, NO_COLOR: "1" };
  const child = spawn(process.execPath, [main], { cwd: folder, env });
  const ended = once(child, "exit") as Promise<[number | null, string | null]>;
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text: Buffer) => (output += text.toString()));
  }
  const url = `http://127.0.0.1:${port}`;
  while (!(await isUp(url))) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`the app did not start:\n${output}`);
    }
  }
  return {
    url,
    output: () => output,
    /** Sends SIGTERM; resolves to the signal or the code with which the process ended. */
    async stop() {
      child.kill("SIGTERM");
      const [code, signal] = await ended;
      return signal ?? String(code);
    },
  };
}

async function isUp(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).text();
    return true;
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return false;
  }
}
