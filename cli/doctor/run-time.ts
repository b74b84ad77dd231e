import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";

/**
 * Measured over whole runs: some cases run alone, and some requests wait for the answer to another one. The rest is
 * shared by the cases that run at the same time and the requests that each of them sends at once.
 */
const ROUND_TRIPS_PER_CASE = { alone: 0.5, shared: 11.8 } as const;
const MINUTE_MS = 60_000;

/**
 * Why the run will take minutes, judged by the first answers. Undefined when it will not, and after each later
 * case: it is said once.
 */
export function slowRunNote(
  ends: readonly ConformanceCaseReport[],
  cases: number,
  concurrency: number,
): string | undefined {
  const last = ends.at(-1);
  if (last === undefined || ends.slice(0, -1).some((end) => answerTimes(end).length > 0)) {
    return undefined;
  }
  const times = answerTimes(last);
  if (times.length === 0) return undefined;
  // The quickest one: the first request to an idle endpoint may take longer than all others.
  const answerMs = Math.min(...times);
  const { alone, shared } = ROUND_TRIPS_PER_CASE;
  const minutes = (answerMs * (alone + shared / concurrency ** 2) * cases) / MINUTE_MS;
  if (minutes < 1) return undefined;
  const duration = minutes < 1.5 ? "a minute" : `${Math.round(minutes)} minutes`;
  return `The endpoint answers in about ${Math.round(answerMs)} ms, so ${cases} cases will take about ${duration}. For a part of them pass --group or --only; --concurrency runs more of them at the same time.`;
}

function answerTimes({ exchanges }: ConformanceCaseReport): readonly number[] {
  return exchanges.flatMap(({ received }) => ("error" in received ? [] : [received.ms]));
}
