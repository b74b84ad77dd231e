import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { ENTRIES } from "../../release/entries.js";
import { ENGINES } from "../engines.js";
import type { FlawedReceiver } from "./plan/flawed-receivers.js";
import type { Mode } from "./plan/mode.js";
import { runMode, type ModeResult, type RunTimes } from "./run-mode.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RECEIVERS = fileURLToPath(new URL("receivers", import.meta.url));

/** Options of a run. */
export interface FaultPlan {
  readonly modes: readonly Mode[];
  readonly flawed: readonly FlawedReceiver[];
  readonly times: RunTimes;
  /** Options of a receiver with a known mistake. */
  readonly flawedTimes: RunTimes;
  readonly seed: number;
  /** Ends the run. */
  readonly signal?: AbortSignal;
  /** Called before each mode and each receiver with a known mistake. */
  readonly onStart?: (title: string) => void;
  /** Called with each result. */
  readonly onResult?: (title: string, result: ModeResult) => void;
}

/** A receiver with a known mistake, and the checker's result. */
export interface Detection extends FlawedReceiver {
  readonly result: ModeResult;
}

/** Results of a run. */
export type FaultResults = Awaited<ReturnType<typeof runFaults>>;

/** Runs the modes and the receivers with known mistakes one after the other. Leaves no process and no file behind. */
export async function runFaults({
  modes,
  flawed,
  times,
  flawedTimes,
  seed,
  signal,
  onStart,
  onResult,
}: FaultPlan) {
  const startedAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "faults-"));
  try {
    const program = installReceiver(join(folder, "partner"));
    const run = async (name: string, mode: Mode, modeTimes: RunTimes): Promise<ModeResult> => {
      const own = join(folder, name);
      mkdirSync(own);
      onStart?.(mode.title);
      const parts = { mode, program, folder: own, times: modeTimes, seed, signal };
      const result = await runMode(parts);
      onResult?.(mode.title, result);
      return result;
    };
    const results: ModeResult[] = [];
    for (const mode of modes) results.push(await run(mode.name, mode, times));
    const detections: Detection[] = [];
    for (const bad of flawed) {
      const result = await run(`bad-${detections.length}`, bad.mode, flawedTimes);
      detections.push({ ...bad, result });
    }
    return { modes: results, detections, ms: performance.now() - startedAt };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Makes a project in `folder` with the built package and the receiver's program. Returns the path of the program.
 * The program is plain JavaScript: a loader would dominate the start-up time, and would resolve the package to
 * its sources through tsconfig.json.
 */
function installReceiver(folder: string): string {
  const modules = join(folder, "node_modules");
  link(ROOT, join(modules, "identity-gateway-webhooks"));
  for (const { engine, peers = [] } of ENTRIES) {
    const platform = ENGINES[engine ?? ""]?.folder ?? "";
    for (const name of peers.flatMap(({ names }) => names)) {
      const own = join(ROOT, "node_modules", name);
      // The engine installs it there when it starts.
      const other = join(ROOT, "test/platforms", platform, "node_modules", name);
      link(existsSync(own) ? own : other, join(modules, name));
    }
  }
  link(join(ROOT, "node_modules/@hono/node-server"), join(modules, "@hono/node-server"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  buildSync({
    entryPoints: ["receiver.ts", "setups/*.ts"].map((file) => join(RECEIVERS, file)),
    outdir: folder,
    outbase: RECEIVERS,
    // Each process only loads the parts and drivers that it needs.
    splitting: true,
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
  });
  return join(folder, "receiver.js");
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path, "dir");
}
