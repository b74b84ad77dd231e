import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Result of a run of the demo. */
export interface DemoRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the demo in its own process, with a pipe instead of a terminal. */
export function runDemo(
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>> = {},
): Promise<DemoRun> {
  const command = ["--import", "tsx", "examples/demo/run.ts", ...args];
  // Settings of this machine must not matter.
  const unset = {
    ...{ FORCE_COLOR: undefined, NO_COLOR: undefined },
    ...{ REDIS_URL: undefined, DATABASE_URL: undefined },
  };
  const options = { cwd: ROOT, env: { ...process.env, ...unset, ...variables } };
  return new Promise((resolve) => {
    execFile(process.execPath, command, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** Mark, delivery, action, status and outcome of each row. */
export function demoRows(stdout: string): string[][] {
  return stdout
    .split("\n")
    .filter((line) => /^[✓✗–] .*[0-9]\.[0-9]$/.test(line))
    .map((line) => [line.slice(0, 1), ...line.slice(2).split(/ {2,}/).slice(0, 4)]);
}
