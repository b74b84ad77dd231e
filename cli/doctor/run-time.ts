import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";

/** Measured over a whole run: many requests of a case go out one after another. */
const ROUND_TRIPS_PER_CASE = 4.6;
const MINUTE_MS = 60_000;

/**
 * Why the run will take minutes, judged by the first answers. Undefined when it will not, and after each later
 * case: it is said once.
 */
export function slowRunNote(
  ends: readonly ConformanceCaseReport[],
  cases: number,
): string | undefined {
  const last = ends.at(-1);
  if (last === undefined || ends.slice(0, -1).some((end) => answerTimes(end).length > 0)) {
    return undefined;
  }
  const times = answerTimes(last);
  if (times.length === 0) return undefined;
  // The quickest one: the first request to an idle endpoint may take longer than all others.
  const answerMs = Math.min(...times);
  const minutes = (answerMs * ROUND_TRIPS_PER_CASE * cases) / MINUTE_MS;
  if (minutes < 1) return undefined;
  const duration = minutes < 1.5 ? "a minute" : `${Math.round(minutes)} minutes`;
  return `The endpoint answers in about ${Math.round(answerMs)} ms, so ${cases} cases will take about ${duration}.`;
}

function answerTimes({ exchanges }: ConformanceCaseReport): readonly number[] {
  return exchanges.flatMap(({ received }) => ("error" in received ? [] : [received.ms]));
}
