import { createRandom } from "../../../kit/random.js";
import type { FaultCounts, Mode } from "./mode.js";

/** One fault. Times in milliseconds from the start of the fault injection. */
export interface PlannedFault {
  readonly kind: keyof FaultCounts;
  readonly at: number;
  /** Duration of the fault; for a kill or a restart, the time until the new start. */
  readonly lastsMs: number;
  /** Index of the receiver, for faults of one receiver. */
  readonly slot: number;
}

/** Duration of each fault: minimum and maximum extra time. `hold` counts in lengths of a claim. */
const LENGTHS: Readonly<
  Record<keyof FaultCounts, { readonly least: number; readonly more: number; readonly hold?: true }>
> = {
  kills: { least: 20, more: 400 },
  stops: { least: 1.4, more: 0.5, hold: true },
  restarts: { least: 200, more: 700 },
  cuts: { least: 0, more: 0 },
  blackHoles: { least: 1.1, more: 0.4, hold: true },
  // Some longer and some shorter than the time-out of a claim.
  holds: { least: 0.3, more: 0.7, hold: true },
  lostAnswers: { least: 60, more: 200 },
  latencies: { least: 600, more: 600 },
  // Longer than drivers and pools wait, and many times longer than a receiver waits.
  locks: { least: 15_000, more: 0 },
  // Some longer and some shorter than a receiver waits for its store.
  rowLocks: { least: 200, more: 1_800 },
  // Time for a pool to open its connections anew, so that some are ended in the moment in which they are ready.
  endings: { least: 200, more: 600 },
  // Longer than all attempts of a delivery take.
  freezes: { least: 13_000, more: 0 },
  readOnlys: { least: 200, more: 1_000 },
  fulls: { least: 200, more: 1_000 },
  // By how much the clock jumps.
  jumps: { least: 600_000, more: 0 },
  // How long the replica has no writes before it takes over.
  failovers: { least: 500, more: 500 },
  replays: { least: 0, more: 0 },
};

/** Number of receivers at a time, unless the mode has another. */
export const SLOTS = 4;

/** The faults of a mode over `faultsMs` milliseconds, in order. The same seed gives the same faults. */
export function planFaults(
  { faults, holdMs, lockMs }: Pick<Mode, "faults" | "holdMs" | "lockMs">,
  faultsMs: number,
  seed: number,
): readonly PlannedFault[] {
  const random = createRandom(seed);
  const fraction = (): number => random.below(10_000) / 10_000;
  const kinds = Object.keys(LENGTHS) as (keyof FaultCounts)[];
  return kinds
    .flatMap((kind) => {
      const { least, more, hold } = LENGTHS[kind];
      const unit = hold === true ? holdMs : 1;
      const fixedMs = kind === "locks" ? lockMs : undefined;
      // One fault of each kind per section, so that every section has all kinds.
      return Array.from({ length: faults[kind] }, (_, index) => ({
        kind,
        at: Math.round(((index + fraction()) / faults[kind]) * faultsMs),
        lastsMs: fixedMs ?? Math.round((least + more * fraction()) * unit),
        slot: random.below(SLOTS),
      }));
    })
    .sort((a, b) => a.at - b.at);
}
