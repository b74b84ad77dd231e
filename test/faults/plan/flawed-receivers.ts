import type { Rule } from "../checker/violation.js";
import { NO_FAULTS, type Mode } from "./mode.js";
import { CRASH_LOOP_MODE } from "./crash-loop-modes.js";
import { ASYNCHRONOUS_MODE, SYNCHRONOUS_MODE } from "./failover-modes.js";
import { TWO_OPERATORS_MODE } from "./operator-modes.js";
import {
  FAILOVER_MODE,
  FROZEN_MODE,
  FULL_MODE,
  JUMP_MODE,
  LAMBDA_MODE,
  OPPOSITE_MODE,
  READ_ONLY_MODE,
  SMALL_POOL_MODE,
} from "./server-modes.js";
import { TWO_IDS_MODES } from "./two-ids-modes.js";
import {
  BURST_MODE,
  ENDED_MODE,
  LOCKED_MODE,
  OVERLOAD_MODE,
  REPEATED_MODE,
  STUCK_MODE,
  TWO_WEBHOOKS_MODE,
} from "./trouble-modes.js";

/** A mistake of real receivers. */
export type Flaw =
  | "claims for good before it handles"
  | "marks after it has handled"
  | "answers before it handles"
  | "answers 200 to a delivery in flight"
  | "waits for a handler forever"
  | "refuses a timestamp that is repeated"
  | "runs any number at once"
  | "does not wait for a place"
  | "knows a record by its delivery id"
  | "hangs up on a locked table"
  | "listens for errors after it has waited"
  | "handles while the store fails"
  | "takes it for granted that a COMMIT commits"
  | "uses its pool inside of a handler"
  | "judges leases by its own clock"
  | "answers before its function has ended"
  | "does not wait for the standby"
  | "discards the dead jobs that it has listed"
  | "knows its runs by the delivery id alone"
  | "forgets the crashes of a postponed job";

/** A faulty receiver, and the rule that the checker must find broken at least once. */
export interface FlawedReceiver {
  readonly mode: Mode;
  readonly flaw: Flaw;
  readonly detectedBy: Rule;
}

const RULES: readonly (readonly [Flaw, Rule])[] = [
  ["claims for good before it handles", "lost"],
  ["marks after it has handled", "unexplained double"],
  ["answers before it handles", "lost"],
  ["answers 200 to a delivery in flight", "acknowledged too early"],
];

/** Runs on Redis, with the usual faults in less time. */
const CARELESS: readonly FlawedReceiver[] = RULES.map(([flaw, detectedBy]) => ({
  flaw,
  detectedBy,
  mode: {
    name: flaw,
    setup: "lease-redis",
    title: flaw,
    guarantee: "lease",
    engine: "redis",
    flaw,
    deliveries: 1_500,
    holdMs: 1_500,
    handler: { maxMs: 15, longMs: 0 },
    faults: { ...NO_FAULTS, kills: 5, stops: 1, restarts: 1, cuts: 2, lostAnswers: 1 },
  },
}));

/** A shortened special mode with a receiver that cannot handle its fault. */
function failing(mode: Mode, flaw: Flaw, detectedBy: Rule, changes: Partial<Mode>): FlawedReceiver {
  const short = { deliveries: 300, faults: { ...mode.faults, kills: 0 } };
  return {
    flaw,
    detectedBy,
    mode: { ...mode, ...short, name: flaw, title: `${flaw}: ${mode.title}`, flaw, ...changes },
  };
}

/** The receivers with a known mistake. */
export const FLAWED_RECEIVERS: readonly FlawedReceiver[] = [
  ...CARELESS,
  failing(STUCK_MODE, "waits for a handler forever", "held too long", {
    options: { ...STUCK_MODE.options, handlerMaxMs: 900_000 },
  }),
  failing(REPEATED_MODE, "refuses a timestamp that is repeated", "genuine refused", {
    failRate: 0.7,
    clocksAgree: true,
    options: { timestampToleranceMs: 2_000 },
  }),
  failing(OVERLOAD_MODE, "runs any number at once", "too many at once", { options: {} }),
  failing(BURST_MODE, "does not wait for a place", "too many exhausted", {
    deliveries: BURST_MODE.deliveries,
    // A delivery waits for half of dependencyTimeoutMs, and no longer.
    options: { handlerTimeoutMs: 400, dependencyTimeoutMs: 400 },
  }),
  failing(TWO_WEBHOOKS_MODE, "knows a record by its delivery id", "unexplained double", {
    options: {},
  }),
  failing(LOCKED_MODE, "hangs up on a locked table", "too many connections", {}),
  failing(FROZEN_MODE, "handles while the store fails", "unexplained double", {
    deliveries: 1_500,
  }),
  failing(OPPOSITE_MODE, "takes it for granted that a COMMIT commits", "not exactly once", {
    deliveries: 1_000,
  }),
  failing(SMALL_POOL_MODE, "uses its pool inside of a handler", "too many exhausted", {
    poolMax: 1,
  }),
  failing(FULL_MODE, "handles while the store fails", "unexplained double", { deliveries: 1_500 }),
  failing(READ_ONLY_MODE, "handles while the store fails", "unexplained double", {
    deliveries: 1_500,
  }),
  failing(FAILOVER_MODE, "marks after it has handled", "unexplained double", { deliveries: 1_500 }),
  failing(JUMP_MODE, "judges leases by its own clock", "unexplained double", { deliveries: 1_000 }),
  failing(LAMBDA_MODE, "answers before its function has ended", "acknowledged too early", {}),
  failing(ENDED_MODE, "listens for errors after it has waited", "receiver ended", {
    faults: ENDED_MODE.faults,
  }),
  failing(SYNCHRONOUS_MODE, "does not wait for the standby", "not exactly once", {
    // A slow machine handles that many in time, so that some are acknowledged just before the failover.
    deliveries: 150,
  }),
  failing(ASYNCHRONOUS_MODE, "answers before it handles", "not exactly once", {}),
  failing(TWO_OPERATORS_MODE, "discards the dead jobs that it has listed", "lost", {
    // What it has lost is waited for in vain.
    healMs: 10_000,
  }),
  ...TWO_IDS_MODES.map((mode) =>
    failing(mode, "knows its runs by the delivery id alone", "twice in one process", {}),
  ),
  failing(CRASH_LOOP_MODE, "forgets the crashes of a postponed job", "never dead", {
    deliveries: 40,
    healMs: 90_000,
  }),
];
