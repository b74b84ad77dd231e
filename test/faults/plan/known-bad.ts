import type { Rule } from "../checker/violation.js";
import { NO_FAULTS, type Mode } from "./mode.js";
import { LOCKED_MODE, OVERLOAD_MODE, REPEATED_MODE, STUCK_MODE } from "./trouble-modes.js";

/** A mistake that receivers are really written with. */
export type Flaw =
  | "claims for good before it handles"
  | "marks after it has handled"
  | "answers before it handles"
  | "answers 200 to copies in flight"
  | "waits for a handler for ever"
  | "refuses a timestamp that is repeated"
  | "takes any number at once"
  | "hangs up on a locked table";

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

/** On Redis, with the faults of the good ones in less time. */
const CARELESS: readonly KnownBad[] = RULES.map(([flaw, convictedBy]) => ({
  ...{ flaw, convictedBy },
  mode: {
    ...{ name: flaw, setup: "lease-redis", title: flaw, guarantee: "lease", engine: "redis", flaw },
    ...{ deliveries: 1_500, holdMs: 1_500, handler: { maxMs: 15, longMs: 0 } },
    faults: { ...NO_FAULTS, kills: 5, stops: 1, restarts: 1, cuts: 2, lostAnswers: 1 },
  },
}));

/** A mode of a trouble of its own, shortened, with a receiver that does not stand it. */
function failing(mode: Mode, flaw: Flaw, convictedBy: Rule, changes: Partial<Mode>): KnownBad {
  const short = { deliveries: 300, faults: { ...mode.faults, kills: 0 } };
  return {
    flaw,
    convictedBy,
    mode: { ...mode, ...short, name: flaw, title: flaw, flaw, ...changes },
  };
}

/** The known-bad receivers. */
export const KNOWN_BAD: readonly KnownBad[] = [
  ...CARELESS,
  failing(STUCK_MODE, "waits for a handler for ever", "held too long", {
    options: { ...STUCK_MODE.options, handlerMaxMs: 900_000 },
  }),
  failing(REPEATED_MODE, "refuses a timestamp that is repeated", "genuine refused", {
    ...{ failRate: 0.7, clocksAgree: true },
    options: { timestampToleranceMs: 2_000 },
  }),
  failing(OVERLOAD_MODE, "takes any number at once", "too many at once", { options: {} }),
  failing(LOCKED_MODE, "hangs up on a locked table", "too many connections", {}),
];
