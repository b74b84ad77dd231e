import { NEVER_PROVEN, type NeverProven } from "../../kit/conformance/never-proven.js";
import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";

/** Something that the run could not see. */
export interface Unproven extends NeverProven {
  /** The ids of the cases that are not judged for this reason. */
  readonly cases: readonly string[];
}

interface Blindness {
  readonly reason: RegExp;
  readonly what: string;
  readonly proveBy: string;
}

/** The reasons why a case is not judged. The first that matches counts. */
const BLINDNESS: readonly Blindness[] = [
  {
    reason: /does not accept a plain genuine delivery|a plain genuine delivery got no answer/,
    what: "your endpoint accepts no genuine delivery, so its other answers show little",
    proveBy: "make it accept one, then run doctor again",
  },
  {
    reason: /failed at once|was to be slow and then fail/,
    what: "what becomes of an alarm whose handler fails after its time-out",
    proveBy: "when both switches are on, let the handler be slow first and then fail",
  },
  {
    reason: /while-failing/,
    what: "what becomes of an alarm whose handler fails",
    proveBy: "pass --while-failing-on <url> and --while-failing-off <url>",
  },
  {
    reason: /while-slow/,
    what: "what becomes of an alarm whose handler finishes after the answer",
    proveBy: "pass --while-slow-on <url> and --while-slow-off <url>",
  },
  {
    reason: /handled only after the answer/,
    what: "whether an alarm that you acknowledge before you handle it survives a crash",
    proveBy:
      "handle it before the answer, or let the URL of --handled also count what is in the durable queue",
  },
  {
    reason: /secret is too short/,
    what: "whether an answer contains the secret",
    proveBy: "use a secret of 16 characters or more",
  },
  {
    reason: /--handled/,
    what: "whether an alarm behind a 200 was handled, and only once",
    proveBy: "pass --handled <url>",
  },
  {
    reason: /rate limiter/,
    what: "what your endpoint itself answers: a rate limiter answered for it",
    proveBy: "lift its limit for this run",
  },
];

/** Cases about a type that `--type` leaves out. */
const NOT_WANTED = "not registered for";

/** Whether a case is not judged although the endpoint is meant to get such deliveries. */
export function isUnproven({ result, reason = "" }: ConformanceCaseReport): boolean {
  return result === "not_judged" && !reason.includes(NOT_WANTED);
}

/**
 * What the run did not prove, each with its cases, and at last what no run proves. Cases that `--type` leaves out
 * do not count.
 */
export function unprovenIn(ends: readonly ConformanceCaseReport[]): readonly Unproven[] {
  const found = new Map<string, Unproven>();
  for (const { id, reason = "" } of ends.filter(isUnproven)) {
    const { what, proveBy } = BLINDNESS.find((one) => one.reason.test(reason)) ?? {
      what: reason,
      proveBy: "see the case above",
    };
    const cases = [...(found.get(what)?.cases ?? []), id];
    found.set(what, { what, cases, proveBy });
  }
  return [...found.values(), ...NEVER_PROVEN.map((one) => ({ ...one, cases: [] }))];
}

/** How many passed cases trust an answer whose effect they did not see. */
export function countTrusting(ends: readonly ConformanceCaseReport[]): number {
  return ends.filter(
    ({ result, reason }) => result === "passed" && reason?.includes("--handled") === true,
  ).length;
}
