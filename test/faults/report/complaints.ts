import type { Detection, FaultResults } from "../run-faults.js";
import type { ModeResult } from "../run-mode.js";

/** Minimum amounts for a full run to count. */
export const LEAST = { deliveries: 30_000, kills: 100, restarts: 8, cuts: 30 };

/** The sums over all modes, without the receivers with known mistakes. */
export function totalsOf(modes: readonly ModeResult[]): typeof LEAST {
  const sum = (of: (mode: ModeResult) => number) =>
    modes.reduce((total, mode) => total + of(mode), 0);
  return {
    deliveries: sum(({ deliveries }) => deliveries),
    kills: sum(({ faults }) => faults.kills),
    restarts: sum(({ faults }) => faults.restarts),
    cuts: sum(({ faults }) => faults.cuts),
  };
}

/** How often the expected rule was broken by a receiver with a known mistake. */
export function detectionsOf({ detectedBy, result }: Detection): number {
  return result.checked.violations.filter(({ rule }) => rule === detectedBy).length;
}

/** Why a run has failed; empty if it passed. `least`: the required amounts. */
export function complaintsOf(
  { modes, detections }: FaultResults,
  least: Partial<typeof LEAST> = {},
): readonly string[] {
  const totals = totalsOf(modes);
  const names = Object.keys(LEAST) as (keyof typeof LEAST)[];
  return [
    ...modes.flatMap(({ mode, checked }) =>
      checked.violations.map(({ rule, detail }) => `${mode.title}: ${rule}: ${detail}`),
    ),
    ...detections
      .filter((detection) => detectionsOf(detection) === 0)
      .map(({ flaw, detectedBy }) => `not found: "${detectedBy}" in "${flaw}"`),
    ...names
      .filter((name) => totals[name] < (least[name] ?? 0))
      .map((name) => `${name}: ${totals[name]}, at least ${least[name] ?? 0} are required`),
  ];
}
