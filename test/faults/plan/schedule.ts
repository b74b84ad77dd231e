import { createRandom } from "../../../src/testing/random.js";
import type { FaultCounts, Mode } from "./mode.js";

/** One fault, in milliseconds from the start of the storm. */
export interface PlannedFault {
  readonly kind: keyof FaultCounts;
  readonly at: number;
  /** How long it lasts; for a kill or a restart, how long it is down. */
  readonly lastsMs: number;
  /** Which of the four receivers, for those that concern one. */
  readonly slot: number;
}

/** How long each fault lasts: the least, and how much more at most. `hold`: in lengths of a claim. */
const LENGTHS: Readonly<
  Record<keyof FaultCounts, { readonly least: number; readonly more: number; readonly hold?: true }>
> = {
  kills: { least: 20, more: 400 },
  stops: { least: 1.4, more: 0.5, hold: true },
  restarts: { least: 200, more: 700 },
  cuts: { least: 0, more: 0 },
  blackHoles: { least: 1.1, more: 0.4, hold: true },
  // Longer and shorter than a claim is waited for.
  holds: { least: 0.3, more: 0.7, hold: true },
  lostAnswers: { least: 60, more: 200 },
  latencies: { least: 600, more: 600 },
  // Longer than a driver or a pool waits by itself, and many times as long as a receiver does.
  locks: { least: 15_000, more: 0 },
};

/** How many receivers there are at a time. */
export const SLOTS = 4;

/** The faults of a mode in a storm of `stormMs`, in their order: the same for the same seed. */
export function planFaults(
  { faults, holdMs, lockMs }: Pick<Mode, "faults" | "holdMs" | "lockMs">,
  stormMs: number,
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
      // One in each stretch of the storm, so that every part of it has some of all.
      return Array.from({ length: faults[kind] }, (_, index) => ({
        kind,
        at: Math.round(((index + fraction()) / faults[kind]) * stormMs),
        lastsMs: fixedMs ?? Math.round((least + more * fraction()) * unit),
        slot: random.below(SLOTS),
      }));
    })
    .sort((a, b) => a.at - b.at);
}
