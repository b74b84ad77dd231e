import type { Need } from "../../kit/conformance/conformance-case.js";
import {
  NEVER_PROVEN,
  type ConformanceCaseReport,
  type NeverProven,
} from "../../kit/conformance/run-conformance.js";
import { answeredBy } from "../../kit/sending/answered-by.js";
import { isWebhookType } from "../../src/delivery/headers.js";
import { printableLine } from "../terminal/printable.js";
import type { DoctorValues } from "./doctor-options.js";

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
function isUnproven({ result, need }: ConformanceCaseReport): boolean {
  return result === "not_judged" && !(need !== undefined && isWebhookType(need));
}

/** Whether a case makes the exit code 1. */
export function isFailure(
  end: ConformanceCaseReport,
  { strict, "require-judged": requireJudged }: Pick<DoctorValues, "strict" | "require-judged">,
): boolean {
  if (end.result === "failed") return strict || end.level === "must";
  return requireJudged && isUnproven(end);
}

const UNKNOWN_ANSWERS: NeverProven = {
  what: "who answered 2xx: an answer names no outcome of this library, so that of a proxy or a firewall looks the same",
  proveBy: 'pass --handled <url>, or name an outcome in your answers: {"outcome":"handled"}',
};

/**
 * What the run did not prove, each with its cases, and at last what no run proves. Cases that `--type` leaves out
 * do not count. `hasHandled`: whether --handled counted what was handled.
 */
export function unprovenIn(
  ends: readonly ConformanceCaseReport[],
  hasHandled = false,
): readonly Unproven[] {
  const found = new Map<string, Unproven>();
  for (const { id, need, reason = "" } of ends.filter(isUnproven)) {
    const known = need === undefined ? undefined : BLINDNESS[need];
    const { what, proveBy } = known ?? { what: reason, proveBy: "see the case above" };
    const cases = [...(found.get(what)?.cases ?? []), id];
    found.set(what, { what, cases, proveBy });
  }
  const unknown = isAnsweredByUnknown(ends) && !hasHandled ? [UNKNOWN_ANSWERS] : [];
  const always = [...unknown, ...NEVER_PROVEN].map((one) => ({ ...one, cases: [] }));
  return [...found.values(), ...always];
}

/** How many passed cases trust an answer whose effect they did not see. */
export function countTrusting(ends: readonly ConformanceCaseReport[]): number {
  return ends.filter(({ result, need }) => result === "passed" && need === "handled").length;
}

/** Every 2xx to a POST in a run, with its case. The first one answers a plain delivery, unless the cases are chosen. */
function acknowledgedIn(ends: readonly ConformanceCaseReport[]) {
  return ends.flatMap(({ id, exchanges }) =>
    exchanges.flatMap(({ sent, received }) => {
      if (sent.method !== "POST" || "error" in received) return [];
      const by = answeredBy(received);
      return by === undefined ? [] : [{ id, by, headers: received.headers }];
    }),
  );
}

/** A sentence for each header that tells servers apart in which a 2xx of a run differs from the first one. */
export function otherAnswersIn(ends: readonly ConformanceCaseReport[]): readonly string[] {
  const [plain, ...others] = acknowledgedIn(ends);
  return ["content-type", "server"].flatMap((header) => {
    const different = others.filter(({ headers }) => headers[header] !== plain?.headers[header]);
    const [value = "none", usual = "none"] = [different[0], plain].map(
      (one) => one?.headers[header],
    );
    const cases = [...new Set(different.map(({ id }) => id))].join(", ");
    const found = `${header}: ${printableLine(value, 60)}, and ${printableLine(usual, 60)} for a plain delivery`;
    return cases === "" ? [] : [`${found} (${cases}). Look whether your receiver gave this 2xx.`];
  });
}

/** Whether the first 2xx of a run names no outcome of this library, so that nothing shows who gives the others. */
function isAnsweredByUnknown(ends: readonly ConformanceCaseReport[]): boolean {
  const [plain] = acknowledgedIn(ends);
  return plain !== undefined && plain.by !== "receiver";
}
