import { expect, it } from "vitest";
import type { FaultCounts } from "./plan/mode.js";
import { MODES } from "./plan/modes.js";
import { WHOLE_PLAN } from "./plan/plans.js";
import { planFaults } from "./plan/schedule.js";

const { faultsMs } = WHOLE_PLAN.times;

it("a seed always gives the same schedule of faults", () => {
  for (const mode of MODES) {
    const plan = planFaults(mode, faultsMs, 7);
    expect(planFaults(mode, faultsMs, 7)).toEqual(plan);
    // A burst has no injected faults.
    if (plan.length > 0) expect(planFaults(mode, faultsMs, 8)).not.toEqual(plan);
  }
});

it("the schedule has all faults of a mode, in order and in time", () => {
  for (const mode of MODES) {
    const plan = planFaults(mode, faultsMs, 7);
    for (const kind of Object.keys(mode.faults) as (keyof FaultCounts)[]) {
      const made = plan.filter((fault) => fault.kind === kind);
      expect(made).toHaveLength(mode.faults[kind]);
    }
    const times = plan.map(({ at }) => at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times.every((at) => at >= 0 && at <= faultsMs)).toBe(true);
    expect(plan.every(({ slot }) => [0, 1, 2, 3].includes(slot))).toBe(true);
  }
});

it("the schedule stops a receiver for longer than a claim is held", () => {
  for (const mode of MODES) {
    const stops = planFaults(mode, faultsMs, 7).filter(({ kind }) => kind === "stops");
    for (const { lastsMs } of stops) expect(lastsMs).toBeGreaterThan(mode.holdMs);
  }
});
