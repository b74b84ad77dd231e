import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installReceiver } from "./harness/install-receiver.js";
import type { KnownBad } from "./plan/known-bad.js";
import type { Mode } from "./plan/mode.js";
import { runMode, type ModeResult, type RunTimes } from "./run-mode.js";

/** What is run. */
export interface FaultPlan {
  readonly modes: readonly Mode[];
  readonly knownBad: readonly KnownBad[];
  readonly times: RunTimes;
  /** Of a known-bad receiver. */
  readonly knownBadTimes: RunTimes;
  readonly seed: number;
  /** Ends the run. */
  readonly signal?: AbortSignal;
  /** Told of each result when it is there. */
  readonly onResult?: (title: string, result: ModeResult) => void;
}

/** A known-bad receiver, and what the checker made of it. */
export interface Conviction extends KnownBad {
  readonly result: ModeResult;
}

/** What came of a run. */
export interface FaultResults {
  readonly seed: number;
  readonly modes: readonly ModeResult[];
  readonly convictions: readonly Conviction[];
  readonly ms: number;
}

/** Runs the modes and the known-bad receivers, one after the other. Leaves no process and no file. */
export async function runFaults({
  modes,
  knownBad,
  times,
  knownBadTimes,
  seed,
  signal,
  onResult,
}: FaultPlan): Promise<FaultResults> {
  const startedAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "faults-"));
  try {
    const program = installReceiver(join(folder, "partner"));
    const run = async (name: string, mode: Mode, modeTimes: RunTimes): Promise<ModeResult> => {
      const own = join(folder, name);
      mkdirSync(own);
      const parts = { mode, program, folder: own, times: modeTimes, seed, signal };
      const result = await runMode(parts);
      onResult?.(mode.title, result);
      return result;
    };
    const results: ModeResult[] = [];
    for (const mode of modes) results.push(await run(mode.name, mode, times));
    const convictions: Conviction[] = [];
    for (const bad of knownBad) {
      const result = await run(`bad-${convictions.length}`, bad.mode, knownBadTimes);
      convictions.push({ ...bad, result });
    }
    return { seed, modes: results, convictions, ms: performance.now() - startedAt };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
