import type { Need } from "../../kit/conformance/conformance-case.js";
import { NEVER_PROVEN, type NeverProven } from "../../kit/conformance/never-proven.js";
import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";
import { isWebhookType } from "../../src/delivery/headers.js";

/** Something that the run could not see. */
export interface Unproven extends NeverProven {
  /** The ids of the cases that are not judged for this reason. */
  readonly cases: readonly string[];
}

/** What is not proven for want of something else than a registered type. */
const BLINDNESS: Readonly<Partial<Record<Need, NeverProven>>> = {
  accepted_delivery: {
    what: "your endpoint accepts no genuine delivery, so its other answers show little",
    proveBy: "make it accept one, then run doctor again",
  },
  slow_then_failing: {
    what: "what becomes of an alarm whose handler fails after its time-out",
    proveBy: "when both switches are on, let the handler be slow first and then fail",
  },
  whileFailing: {
    what: "what becomes of an alarm whose handler fails",
    proveBy: "pass --while-failing-on <url> and --while-failing-off <url>",
  },
  whileSlow: {
    what: "what becomes of an alarm whose handler finishes after the answer",
    proveBy: "pass --while-slow-on <url> and --while-slow-off <url>",
  },
  handled_before_answer: {
    what: "whether an alarm that you acknowledge before you handle it survives a crash",
    proveBy:
      "handle it before the answer, or let the URL of --handled also count what is in the durable queue",
  },
  longer_secret: {
    what: "whether an answer contains the secret",
    proveBy: "use a secret of 16 characters or more",
  },
  handled: {
    what: "whether an alarm behind a 200 was handled, and only once",
    proveBy: "pass --handled <url>",
  },
  no_rate_limiter: {
    what: "what your endpoint itself answers: a rate limiter answered for it",
    proveBy: "lift its limit for this run",
  },
};

/** Whether a case is not judged although the endpoint is meant to get such deliveries. */
export function isUnproven({ result, need }: ConformanceCaseReport): boolean {
  return result === "not_judged" && !(need !== undefined && isWebhookType(need));
}

/**
 * What the run did not prove, each with its cases, and at last what no run proves. Cases that `--type` leaves out
 * do not count.
 */
export function unprovenIn(ends: readonly ConformanceCaseReport[]): readonly Unproven[] {
  const found = new Map<string, Unproven>();
  for (const { id, need, reason = "" } of ends.filter(isUnproven)) {
    const known = need === undefined ? undefined : BLINDNESS[need];
    const { what, proveBy } = known ?? { what: reason, proveBy: "see the case above" };
    const cases = [...(found.get(what)?.cases ?? []), id];
    found.set(what, { what, cases, proveBy });
  }
  return [...found.values(), ...NEVER_PROVEN.map((one) => ({ ...one, cases: [] }))];
}

/** How many passed cases trust an answer whose effect they did not see. */
export function countTrusting(ends: readonly ConformanceCaseReport[]): number {
  return ends.filter(({ result, need }) => result === "passed" && need === "handled").length;
}
