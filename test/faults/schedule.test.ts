import { describe, expect, it } from "vitest";
import type { FaultCounts, Mode } from "./plan/mode.js";
import { MODES } from "./plan/modes.js";
import { WHOLE_PLAN } from "./plan/plans.js";
import { planFaults } from "./plan/schedule.js";
import { LEAST } from "./report/complaints.js";

const { stormMs } = WHOLE_PLAN.times;

describe("the schedule of faults", () => {
  it("is the same for the same seed, and another for another", () => {
    for (const mode of MODES) {
      expect(planFaults(mode, stormMs, 7)).toEqual(planFaults(mode, stormMs, 7));
      expect(planFaults(mode, stormMs, 8)).not.toEqual(planFaults(mode, stormMs, 7));
    }
  });

  it("has all faults of a mode, in their order and within the storm", () => {
    for (const mode of MODES) {
      const plan = planFaults(mode, stormMs, 7);
      for (const kind of Object.keys(mode.faults) as (keyof FaultCounts)[]) {
        const made = plan.filter((fault) => fault.kind === kind);
        expect(made).toHaveLength(mode.faults[kind]);
      }
      const times = plan.map(({ at }) => at);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(times.every((at) => at >= 0 && at <= stormMs)).toBe(true);
      expect(plan.every(({ slot }) => [0, 1, 2, 3].includes(slot))).toBe(true);
    }
  });

  it("stops a receiver for longer than it may hold a delivery", () => {
    for (const mode of MODES) {
      const stops = planFaults(mode, stormMs, 7).filter(({ kind }) => kind === "stops");
      for (const { lastsMs } of stops) expect(lastsMs).toBeGreaterThan(mode.holdMs);
    }
  });

  it("asks for as much as a whole run has to show", () => {
    const sum = (of: (mode: Mode) => number): number =>
      MODES.reduce((total, mode) => total + of(mode), 0);
    expect(sum(({ deliveries }) => deliveries)).toBeGreaterThanOrEqual(LEAST.deliveries);
    expect(sum(({ faults }) => faults.kills)).toBeGreaterThanOrEqual(LEAST.kills);
    expect(sum(({ faults }) => faults.restarts)).toBeGreaterThanOrEqual(LEAST.restarts);
    expect(sum(({ faults }) => faults.cuts)).toBeGreaterThanOrEqual(LEAST.cuts);
  });
});
