import type { Conviction, FaultResults } from "../run-faults.js";
import type { ModeResult } from "../run-mode.js";

/** What a whole run has to have done, to be worth its word. */
export const LEAST = { deliveries: 30_000, kills: 100, restarts: 8, cuts: 30 };

/** The sums over all modes; known-bad receivers do not count. */
export function totalsOf(modes: readonly ModeResult[]): typeof LEAST {
  const sum = (of: (mode: ModeResult) => number): number =>
    modes.reduce((total, mode) => total + of(mode), 0);
  return {
    deliveries: sum(({ deliveries }) => deliveries),
    kills: sum(({ faults }) => faults.kills),
    restarts: sum(({ faults }) => faults.restarts),
    cuts: sum(({ faults }) => faults.cuts),
  };
}

/** How often the rule that has to convict a known-bad receiver did. */
export function convictionsOf({ convictedBy, result }: Conviction): number {
  return result.verdict.violations.filter(({ rule }) => rule === convictedBy).length;
}

/** Why a run has failed; none where it has not. `least`: what is asked of its size. */
export function complaintsOf(
  { modes, convictions }: FaultResults,
  least: Partial<typeof LEAST> = {},
): readonly string[] {
  const totals = totalsOf(modes);
  const names = Object.keys(LEAST) as (keyof typeof LEAST)[];
  return [
    ...modes.flatMap(({ mode, verdict }) =>
      verdict.violations.map(({ rule, detail }) => `${mode.title}: ${rule}: ${detail}`),
    ),
    ...convictions
      .filter((conviction) => convictionsOf(conviction) === 0)
      .map(({ flaw, convictedBy }) => `not convicted of "${convictedBy}": ${flaw}`),
    ...names
      .filter((name) => totals[name] < (least[name] ?? 0))
      .map((name) => `${name}: ${totals[name]}, and at least ${least[name] ?? 0} are asked for`),
  ];
}
