import type { Rule } from "../checker/violation.js";
import { modeOn, type Mode } from "./mode.js";
import { SPECIAL_MODES } from "./special-modes.js";

/** A mistake of real receivers, and the rule that the checker must find broken at least once. */
const DETECTED_BY = {
  "claims for good before it handles": "lost",
  "marks after it has handled": "unexplained double",
  "answers before it handles": "lost",
  "answers 200 to a delivery in flight": "acknowledged too early",
  "waits for a handler forever": "held too long",
  "refuses a timestamp that is repeated": "genuine refused",
  "runs any number at once": "too many at once",
  "does not wait for a place": "too many exhausted",
  "knows a record by its delivery id": "unexplained double",
  "hangs up on a locked table": "too many connections",
  "listens for errors after it has waited": "receiver ended",
  "handles while the store fails": "unexplained double",
  "takes it for granted that a COMMIT commits": "not exactly once",
  "uses its pool inside of a handler": "too many exhausted",
  "judges leases by its own clock": "unexplained double",
  "answers before its function has ended": "acknowledged too early",
  "does not wait for the standby": "not exactly once",
  "discards the dead jobs that it has listed": "lost",
  "knows its runs by the delivery id alone": "twice in one process",
  "forgets the crashes of a postponed job": "never dead",
} as const satisfies Readonly<Record<string, Rule>>;

export type Flaw = keyof typeof DETECTED_BY;

/** A faulty receiver. */
export interface FlawedReceiver {
  readonly mode: Mode;
  readonly flaw: Flaw;
  readonly detectedBy: Rule;
}

/** Runs on Redis, with the usual faults in less time. */
function careless(flaw: Flaw): FlawedReceiver {
  const mode = modeOn("lease-redis", flaw, flaw, {
    flaw,
    deliveries: 1_500,
    faults: { kills: 5, stops: 1, restarts: 1, cuts: 2, lostAnswers: 1 },
  });
  return { flaw, detectedBy: DETECTED_BY[flaw], mode };
}

/** A special mode, shortened, with a receiver that cannot handle its fault. */
function failing(
  name: string,
  flaw: Flaw,
  changes: Partial<Mode> = {},
  detectedBy: Rule = DETECTED_BY[flaw],
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
  careless("claims for good before it handles"),
  careless("marks after it has handled"),
  careless("answers before it handles"),
  careless("answers 200 to a delivery in flight"),
  failing("stuck-redis", "waits for a handler forever", {
    options: { handlerTimeoutMs: 1_000, handlerMaxMs: 900_000 },
  }),
  failing("repeated-timestamp", "refuses a timestamp that is repeated", {
    failRate: 0.7,
    clocksAgree: true,
    options: { timestampToleranceMs: 2_000 },
  }),
  failing("overload", "runs any number at once", { options: {} }),
  failing("burst-transactions", "does not wait for a place", {
    deliveries: 600,
    // A delivery waits for half of dependencyTimeoutMs, and no longer.
    options: { handlerTimeoutMs: 400, dependencyTimeoutMs: 400 },
  }),
  failing("two-webhooks-redis", "knows a record by its delivery id", {
    options: {},
  }),
  failing("locked-lease", "hangs up on a locked table"),
  failing("frozen-redis", "handles while the store fails", { deliveries: 1_500 }),
  failing("opposite-postgres", "takes it for granted that a COMMIT commits", { deliveries: 1_000 }),
  failing("pool-2-transactions", "uses its pool inside of a handler", { poolMax: 1 }),
  failing("full-redis", "handles while the store fails", { deliveries: 1_500 }),
  failing("read-only-lease", "handles while the store fails", { deliveries: 1_500 }),
  failing("failover-redis", "marks after it has handled", { deliveries: 1_500 }),
  failing("jump-redis", "judges leases by its own clock", { deliveries: 1_000 }),
  failing("lambda-redis", "answers before its function has ended"),
  failing("ended-lease", "listens for errors after it has waited"),
  failing("failover-synchronous", "does not wait for the standby", {
    // A slow machine handles that many in time, so that some are acknowledged just before the failover.
    deliveries: 150,
  }),
  failing("failover-asynchronous", "answers before it handles", {}, "not exactly once"),
  failing("two-operators-bullmq", "discards the dead jobs that it has listed", {
    // What it has lost is waited for in vain.
    healMs: 10_000,
  }),
  failing("two-ids-pause", "knows its runs by the delivery id alone"),
  failing("two-ids-completion", "knows its runs by the delivery id alone"),
  failing("crash-loop-nats", "forgets the crashes of a postponed job", {
    deliveries: 40,
    healMs: 90_000,
  }),
];
