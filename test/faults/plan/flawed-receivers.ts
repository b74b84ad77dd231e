import type { Rule } from "../checker/violation.js";
import { modeOn, type Mode } from "./mode.js";
import { SPECIAL_MODES } from "./special-modes.js";

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
  mode: modeOn("lease-redis", flaw, flaw, {
    flaw,
    deliveries: 1_500,
    faults: { kills: 5, stops: 1, restarts: 1, cuts: 2, lostAnswers: 1 },
  }),
}));

/** A special mode, shortened, with a receiver that cannot handle its fault. */
function failing(
  name: string,
  flaw: Flaw,
  detectedBy: Rule,
  changes: Partial<Mode> = {},
): FlawedReceiver {
  const mode = SPECIAL_MODES.find((one) => one.name === name);
  if (mode === undefined) throw new Error(`no mode ${name}`);
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
  failing("stuck-redis", "waits for a handler forever", "held too long", {
    options: { handlerTimeoutMs: 1_000, handlerMaxMs: 900_000 },
  }),
  failing("repeated-timestamp", "refuses a timestamp that is repeated", "genuine refused", {
    failRate: 0.7,
    clocksAgree: true,
    options: { timestampToleranceMs: 2_000 },
  }),
  failing("overload", "runs any number at once", "too many at once", { options: {} }),
  failing("burst-transactions", "does not wait for a place", "too many exhausted", {
    deliveries: 600,
    // A delivery waits for half of dependencyTimeoutMs, and no longer.
    options: { handlerTimeoutMs: 400, dependencyTimeoutMs: 400 },
  }),
  failing("two-webhooks-redis", "knows a record by its delivery id", "unexplained double", {
    options: {},
  }),
  failing("locked-lease", "hangs up on a locked table", "too many connections"),
  failing("frozen-redis", "handles while the store fails", "unexplained double", {
    deliveries: 1_500,
  }),
  failing("opposite-postgres", "takes it for granted that a COMMIT commits", "not exactly once", {
    deliveries: 1_000,
  }),
  failing("pool-2-transactions", "uses its pool inside of a handler", "too many exhausted", {
    poolMax: 1,
  }),
  failing("full-redis", "handles while the store fails", "unexplained double", {
    deliveries: 1_500,
  }),
  failing("read-only-lease", "handles while the store fails", "unexplained double", {
    deliveries: 1_500,
  }),
  failing("failover-redis", "marks after it has handled", "unexplained double", {
    deliveries: 1_500,
  }),
  failing("jump-redis", "judges leases by its own clock", "unexplained double", {
    deliveries: 1_000,
  }),
  failing("lambda-redis", "answers before its function has ended", "acknowledged too early"),
  failing("ended-lease", "listens for errors after it has waited", "receiver ended"),
  failing("failover-synchronous", "does not wait for the standby", "not exactly once", {
    // A slow machine handles that many in time, so that some are acknowledged just before the failover.
    deliveries: 150,
  }),
  failing("failover-asynchronous", "answers before it handles", "not exactly once"),
  failing("two-operators-bullmq", "discards the dead jobs that it has listed", "lost", {
    // What it has lost is waited for in vain.
    healMs: 10_000,
  }),
  failing("two-ids-pause", "knows its runs by the delivery id alone", "twice in one process"),
  failing("two-ids-completion", "knows its runs by the delivery id alone", "twice in one process"),
  failing("crash-loop-nats", "forgets the crashes of a postponed job", "never dead", {
    deliveries: 40,
    healMs: 90_000,
  }),
];
