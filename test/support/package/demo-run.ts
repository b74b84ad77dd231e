import { execFile } from "node:child_process";
import path from "node:path";
import { REPOSITORY } from "./installed-package.js";
import { textOf } from "./sources.js";

const { scripts } = JSON.parse(textOf("package.json")) as {
  readonly scripts: { readonly demo: string };
};

/** How a run of the demo ended, and what it printed. */
export interface DemoRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command of `npm run demo` in a process of its own, with a pipe in place of a terminal. */
export function runDemo(
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>> = {},
): Promise<DemoRun> {
  const [tool = "", ...command] = scripts.demo.split(" ");
  // The settings of this machine must not change the output.
  const unset = {
    FORCE_COLOR: undefined,
    NO_COLOR: undefined,
    REDIS_URL: undefined,
    DATABASE_URL: undefined,
  };
  const options = { cwd: REPOSITORY, env: { ...process.env, ...unset, ...variables } };
  return new Promise((resolve) => {
    execFile(
      path.join(REPOSITORY, "node_modules/.bin", tool),
      [...command, ...args],
      options,
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}

/** The mark, delivery, action, status and outcome of each row. */
export function demoRows(stdout: string): string[][] {
  return stdout
    .split("\n")
    .filter((line) => /^[✓✗–] .*[0-9]\.[0-9]$/.test(line))
    .map((line) => [line.slice(0, 1), ...line.slice(2).split(/ {2,}/).slice(0, 4)]);
}
