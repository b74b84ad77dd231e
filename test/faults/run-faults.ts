import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installReceiver } from "./harness/install-receiver.js";
import type { FlawedReceiver } from "./plan/flawed-receivers.js";
import type { Mode } from "./plan/mode.js";
import { runMode, type ModeResult, type RunTimes } from "./run-mode.js";

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
export interface FaultResults {
  readonly seed: number;
  readonly modes: readonly ModeResult[];
  readonly detections: readonly Detection[];
  readonly ms: number;
}

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
}: FaultPlan): Promise<FaultResults> {
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
    return { seed, modes: results, detections, ms: performance.now() - startedAt };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
