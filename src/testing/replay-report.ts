import { OUTCOMES } from "../outcome.js";
import type { Fixture, FixtureExpectation } from "./fixture.js";
import { outcomeOf, type WireAnswer } from "./wire.js";

/** What became of one fixture. */
export interface ReplayResult {
  /** The fixture's name. */
  readonly name: string;
  /** The fixture's description. */
  readonly description: string;
  /** What the fixture expects; left out where it expects nothing. */
  readonly expected?: FixtureExpectation;
  /** HTTP status; left out where no answer came. */
  readonly status?: number;
  /** The outcome that the answer names; left out where it names none of this library's. */
  readonly outcome?: string;
  /** Why no answer came. */
  readonly error?: string;
  /** Milliseconds from the request to the end of the answer, or to the failure. */
  readonly ms: number;
  /** `not_judged`: the fixture expects nothing. */
  readonly verdict: "as_expected" | "different" | "not_judged";
}

/** What became of all. */
export interface ReplayReport {
  /** In the order of the fixtures. */
  readonly results: readonly ReplayResult[];
  /** How many have each verdict. */
  readonly asExpected: number;
  readonly different: number;
  readonly notJudged: number;
}

/** An answer, or why there is none. */
export type Exchange = WireAnswer | { readonly error: string; readonly ms: number };

/** Judges one exchange. */
export function resultOf(fixture: Fixture, exchange: Exchange): ReplayResult {
  const { name, description, expect } = fixture;
  const answered = "error" in exchange ? { error: exchange.error } : answerOf(exchange);
  return {
    name,
    description,
    ...(expect === undefined ? {} : { expected: expect }),
    ...answered,
    ms: exchange.ms,
    verdict: verdictOf(expect, answered),
  };
}

/** Counts the verdicts. */
export function reportOf(results: readonly ReplayResult[]): ReplayReport {
  const count = (verdict: ReplayResult["verdict"]): number =>
    results.filter((result) => result.verdict === verdict).length;
  return {
    results,
    asExpected: count("as_expected"),
    different: count("different"),
    notJudged: count("not_judged"),
  };
}

type Answered = Pick<ReplayResult, "status" | "outcome" | "error">;

function answerOf({ status, body }: WireAnswer): Answered {
  const outcome = outcomeOf(body);
  // A receiver of another make may have error codes of its own, which say nothing against it.
  const isOurs = outcome !== undefined && Object.hasOwn(OUTCOMES, outcome);
  return { status, ...(isOurs ? { outcome } : {}) };
}

function verdictOf(
  expected: FixtureExpectation | undefined,
  { status, outcome }: Answered,
): ReplayResult["verdict"] {
  if (expected === undefined) return "not_judged";
  const isOther = outcome !== undefined && outcome !== (expected.outcome ?? outcome);
  return status !== expected.status || isOther ? "different" : "as_expected";
}
