import type { FaultPlan } from "../run-faults.js";
import { FLAWED_RECEIVERS, type Flaw } from "./flawed-receivers.js";
import { NO_FAULTS, type FaultCounts, type Mode } from "./mode.js";
import { MODES } from "./modes.js";

/** All modes: about twenty minutes on two idle cores. */
export const WHOLE_PLAN = {
  modes: MODES,
  flawed: FLAWED_RECEIVERS,
  times: { calmMs: 1_500, faultsMs: 16_000, healMs: 30_000 },
  flawedTimes: { calmMs: 500, faultsMs: 5_000, healMs: 30_000 },
} as const satisfies Omit<FaultPlan, "seed">;

const SHORT_MODES: readonly string[] = [
  "lease-redis",
  "transactions-sqlite",
  "failover-synchronous",
  "failover-asynchronous",
  "two-operators-bullmq",
  "two-ids-pause",
  "two-ids-completion",
];
const SHORT_FLAWS: readonly Flaw[] = [
  "claims for good before it handles",
  "marks after it has handled",
  "does not wait for the standby",
  "discards the dead jobs that it has listed",
  "knows its runs by the delivery id alone",
];

/** A few modes: about a minute. */
export const SHORT_PLAN: Omit<FaultPlan, "seed"> = {
  modes: MODES.filter(({ name }) => SHORT_MODES.includes(name)).map(shortened),
  flawed: FLAWED_RECEIVERS.filter(({ flaw }) => SHORT_FLAWS.includes(flaw)).map((bad) => ({
    ...bad,
    mode: isSpecial(bad.mode)
      ? shortened(bad.mode)
      : { ...bad.mode, deliveries: 500, faults: { ...bad.mode.faults, kills: 2, stops: 0 } },
  })),
  times: { calmMs: 300, faultsMs: 3_000, healMs: 30_000 },
  flawedTimes: { calmMs: 300, faultsMs: 2_000, healMs: 30_000 },
};

/** Whether the mode is about a fault that has to stay in a short run. */
function isSpecial({ standby, faults, receivers }: Mode): boolean {
  return standby !== undefined || faults.replays > 0 || receivers !== undefined;
}

function shortened(mode: Mode): Mode {
  const { faults } = mode;
  if (isSpecial(mode)) return { ...mode, deliveries: 150, faultsMs: 4_000 };
  return {
    ...mode,
    deliveries: 600,
    faults: {
      ...NO_FAULTS,
      kills: 4,
      stops: 1,
      lostAnswers: Math.min(faults.lostAnswers, 1),
      restarts: Math.min(faults.restarts, 1),
      cuts: Math.min(faults.cuts, 2),
    },
  };
}

/** Deliveries of a longer run in each second. More of them keep two processors busy, and not the faults. */
const DELIVERIES_A_SECOND = 40;

/** Of very many jobs one fails seven times in a row, and then waits for two minutes. */
const LONG_HEAL_MS = 180_000;

/** The mode with `ms` milliseconds of faults, as many of them in each second as before, and fewer deliveries. */
export function lasting(mode: Mode, ms: number): Mode {
  const times = ms / (mode.faultsMs ?? WHOLE_PLAN.times.faultsMs);
  const kinds = Object.keys(mode.faults) as (keyof FaultCounts)[];
  const faults = Object.fromEntries(
    kinds.map((kind) => [kind, Math.round(mode.faults[kind] * times)]),
  ) as Record<keyof FaultCounts, number>;
  // The lab has one replica that can take over.
  faults.failovers = mode.faults.failovers;
  const deliveries = Math.min(mode.deliveries * times, (DELIVERIES_A_SECOND * ms) / 1_000);
  const healMs = LONG_HEAL_MS;
  return { ...mode, deliveries: Math.round(deliveries), faults, faultsMs: ms, healMs };
}
