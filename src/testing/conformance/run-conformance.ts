import {
  CONFORMANCE_GROUPS,
  ConformanceFailure,
  type ConformanceCase,
  type ConformanceDescription,
  type ConformanceExchange,
  type ConformanceGroup,
} from "./conformance-case.js";

/** What became of one case. */
export interface ConformanceCaseReport extends ConformanceDescription {
  readonly verdict: "passed" | "failed" | "not_judged";
  /** Why it failed or was not judged; beside `passed` where the receiver was taken at its word. */
  readonly reason?: string | undefined;
  readonly exchanges: readonly ConformanceExchange[];
  /** Milliseconds that the case took. */
  readonly ms: number;
}

/** How many cases came to which verdict. */
export interface ConformanceCounts {
  readonly passed: number;
  readonly failed: number;
  readonly notJudged: number;
}

/** What became of all cases. */
export interface ConformanceReport extends ConformanceCounts {
  /** In the order of the cases. */
  readonly results: readonly ConformanceCaseReport[];
  /** How many of the failed ones are a `must`: with 0 the receiver conforms. */
  readonly failedMust: number;
  /** The groups that have cases, in the order of a report. */
  readonly byGroup: readonly (ConformanceCounts & {
    readonly group: ConformanceGroup;
    readonly results: readonly ConformanceCaseReport[];
  })[];
}

/** Options of `runConformance`. */
export interface RunConformanceOptions {
  /** Called after each case, for progress. */
  readonly onResult?: ((result: ConformanceCaseReport) => unknown) | undefined;
  /** Ends the run before the next case. The report is of those that have run. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs cases one after the other, and reports. Rejects where a case ends otherwise than by an answer:
 * that is a bug.
 */
export async function runConformance(
  cases: readonly ConformanceCase[],
  { onResult, signal }: RunConformanceOptions = {},
): Promise<ConformanceReport> {
  const results: ConformanceCaseReport[] = [];
  for (const one of cases) {
    if (signal?.aborted === true) break;
    const result = await runCase(one);
    results.push(result);
    onResult?.(result);
  }
  const failed = results.filter(({ verdict }) => verdict === "failed");
  return {
    results,
    ...count(results),
    failedMust: failed.filter(({ level }) => level === "must").length,
    byGroup: CONFORMANCE_GROUPS.flatMap((group) => {
      const own = results.filter((result) => result.group === group);
      return own.length === 0 ? [] : [{ group, ...count(own), results: own }];
    }),
  };
}

async function runCase({ run, ...description }: ConformanceCase): Promise<ConformanceCaseReport> {
  const startedAt = performance.now();
  try {
    const result = await run();
    return { ...description, ...result, ms: performance.now() - startedAt };
  } catch (error) {
    if (!(error instanceof ConformanceFailure)) throw error;
    const { message: reason, exchanges } = error;
    const ms = performance.now() - startedAt;
    return { ...description, verdict: "failed", reason, exchanges, ms };
  }
}

function count(results: readonly ConformanceCaseReport[]): ConformanceCounts {
  const of = (verdict: ConformanceCaseReport["verdict"]): number =>
    results.filter((result) => result.verdict === verdict).length;
  return { passed: of("passed"), failed: of("failed"), notJudged: of("not_judged") };
}
