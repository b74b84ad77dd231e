import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";

const exec = promisify(execFile);
const fileOf = (model: ModelName) => fileURLToPath(new URL(`${model}.pml`, import.meta.url));

/** The models, each a file. */
export type ModelName = "lease" | "transaction" | "record" | "job";

/** Undefined if Spin and a C compiler are on the PATH. */
export const missingSpin =
  spawnSync("spin", ["-V"]).status === 0 && spawnSync("gcc", ["--version"]).status === 0
    ? undefined
    : "spin and gcc were not found on PATH";
/** A model that never ends must not hold up the tests. */
const LIMITS = { maxBuffer: 2 ** 30, timeout: 120_000 };

/** One step of the model: what happens at a request or process, with which result and which answer to the sender. */
export interface Step {
  readonly name: string;
  readonly at: number;
  readonly result: string;
  readonly answer: string;
}

/** What is set with `-D`. */
export interface ModelOptions {
  /** Only of the model of leases. */
  readonly PROCESSES?: 2 | 3;
  readonly FAULTS: number;
  readonly BUG?: number;
  /** The property that is looked for. Default: all. */
  readonly ONLY?: string;
  readonly LIVE?: 1;
  readonly WALKS?: number;
}

function definesOf(options: ModelOptions): string[] {
  return Object.entries(options).map(([name, value]) => `-D${name}=${String(value)}`);
}

function stepsOf(output: string): Step[] {
  return Array.from(
    output.matchAll(/^ *@ (\w+) (\d+) (\w+) (\w+)$/gm),
    ([, name = "", at, result = "", answer = ""]) => ({ name, at: Number(at), result, answer }),
  );
}

/** Explores every state of the model. `trail` is the way to a broken property; undefined if all hold. */
export async function verify(
  model: ModelName,
  options: ModelOptions,
): Promise<{ readonly states: number; readonly trail?: readonly Step[] }> {
  const folder = mkdtempSync(path.join(tmpdir(), "lease-model-"));
  const run = async (command: string, ...args: string[]) =>
    (await exec(command, args, { cwd: folder, ...LIMITS })).stdout;
  try {
    const isLive = options.LIVE !== undefined;
    await run("spin", "-a", ...definesOf(options), fileOf(model));
    const isQuick = options.BUG !== undefined;
    const kind = isLive ? ["-DNFAIR=3"] : ["-DSAFETY", "-DNOFAIR"];
    await run("gcc", isQuick ? "-O0" : "-O2", "-w", "-DCOLLAPSE", ...kind, "-o", "pan", "pan.c");
    const output = await run(path.join(folder, "pan"), "-m100000", ...(isLive ? ["-a", "-f"] : []));
    if (/max search depth too small|out of memory/.test(output)) throw new Error(output);
    const states = Number(/(\d+) states, stored/.exec(output)?.[1]);
    const errors = Number(/errors: (\d+)/.exec(output)?.[1]);
    if (errors === 0) return { states };
    const given = ["-t", "-k", `${model}.pml.trail`, ...definesOf(options), fileOf(model)];
    return { states, trail: stepsOf(await run("spin", ...given)) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `count` random walks, the same for the same seed. */
export async function randomWalks(
  model: ModelName,
  count: number,
  seed: number,
): Promise<Step[][]> {
  const given = [`-n${String(seed)}`, ...definesOf({ FAULTS: 5, WALKS: count }), fileOf(model)];
  const { stdout } = await exec("spin", given, {
    cwd: tmpdir(),
    ...LIMITS,
  });
  const walks: Step[][] = [[]];
  for (const step of stepsOf(stdout)) {
    if (step.name === "walk") walks.push([]);
    else walks.at(-1)?.push(step);
  }
  return walks.slice(0, count);
}
