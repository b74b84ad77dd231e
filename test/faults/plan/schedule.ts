import { createRandom } from "../../../kit/random.js";
import { FAULT_LENGTHS, type FaultCounts, type FaultLength, type Mode } from "./mode.js";

/** One fault. Times in milliseconds from the start of the fault injection. */
export interface PlannedFault {
  readonly kind: keyof FaultCounts;
  readonly at: number;
  /** Duration of the fault; for a kill or a restart, the time until the new start. */
  readonly lastsMs: number;
  /** Index of the receiver, for faults of one receiver. */
  readonly slot: number;
}

/** Number of receivers at a time, unless the mode has another. */
export const SLOTS = 4;

/** The faults of a mode over `faultsMs` milliseconds, in order. The same seed gives the same faults. */
export function planFaults(
  { faults, holdMs, lockMs }: Pick<Mode, "faults" | "holdMs" | "lockMs">,
  faultsMs: number,
  seed: number,
): readonly PlannedFault[] {
  const random = createRandom(seed);
  const fraction = () => random.below(10_000) / 10_000;
  const kinds = Object.keys(FAULT_LENGTHS) as (keyof FaultCounts)[];
  return kinds
    .flatMap((kind) => {
      const { least, more, hold }: FaultLength = FAULT_LENGTHS[kind];
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
