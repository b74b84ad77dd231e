import type { Rule } from "../checker/violation.js";
import type { Mode } from "./modes.js";

/** A mistake that receivers are really written with. */
export type Flaw =
  | "claims for good before it handles"
  | "marks after it has handled"
  | "answers before it handles"
  | "answers 200 to copies in flight";

/** A receiver that the checker has to convict, and by which rule at least. */
export interface KnownBad {
  readonly mode: Mode;
  readonly flaw: Flaw;
  readonly convictedBy: Rule;
}

const RULES: readonly (readonly [Flaw, Rule])[] = [
  ["claims for good before it handles", "lost"],
  ["marks after it has handled", "unexplained double"],
  ["answers before it handles", "lost"],
  ["answers 200 to copies in flight", "acknowledged too early"],
];

/** The known-bad receivers: each on Redis, with the faults of the good ones in less time. */
export const KNOWN_BAD: readonly KnownBad[] = RULES.map(([flaw, convictedBy]) => ({
  ...{ flaw, convictedBy },
  mode: {
    ...{ setup: "lease-redis", title: flaw, guarantee: "lease", engine: "redis", flaw },
    ...{ deliveries: 1_500, holdMs: 1_500, handler: { maxMs: 15, longMs: 0 } },
    faults: {
      ...{ kills: 5, stops: 1, restarts: 1, cuts: 2 },
      ...{ blackHoles: 0, holds: 0, lostAnswers: 1, latencies: 0 },
    },
  },
}));
