import { integerOption } from "../../src/common/option-checks.js";
import { CONCURRENCY } from "./conformance-options.js";
import {
  CONFORMANCE_GROUPS,
  ConformanceFailure,
  type ConformanceCase,
  type ConformanceDescription,
  type ConformanceExchange,
  type ConformanceGroup,
  type FailureCode,
  type Need,
} from "./conformance-case.js";

/**
 * Something that no run of the cases can prove.
 *
 * @experimental
 */
export interface NeverProven {
  /** What is not proven, as the rest of a sentence. */
  readonly what: string;
  /** How to prove it. */
  readonly proveBy: string;
}

/** What a run proves of no receiver, whatever the options are: it is short, and sees answers and counts alone. */
export const NEVER_PROVEN: readonly NeverProven[] = [
  {
    what: "that an id is remembered for 72 hours, and however many deliveries come meanwhile",
    proveBy: "read the retention and the limit of entries in the store's configuration",
  },
  {
    what: "that all processes and replicas share the ids, and that they survive a restart",
    proveBy:
      "send a delivery with an id of your own (`send --id`), restart or change the replica, and send it again: it must be a duplicate",
  },
  {
    what: "which record was handled: a count says how often, not with which content",
    proveBy: "compare a record that your handler stored with the one that was sent",
  },
];

/**
 * The report on one case.
 *
 * @experimental
 */
export interface ConformanceCaseReport extends ConformanceDescription {
  /** How the case ended. */
  readonly result: "passed" | "failed" | "not_judged";
  /** Why it failed or was not judged. With `passed`: what the case assumed unseen, if anything. */
  readonly reason?: string | undefined;
  /** With `failed`: why, for code that branches on it. */
  readonly code?: FailureCode | undefined;
  /** What the case lacks: with `not_judged` always, with `passed` if it assumed something for want of it. */
  readonly need?: Need | undefined;
  /** Records that the handler failed to take twice. The gateway sends each up to ten times, then it is lost. */
  readonly untaken?: readonly string[] | undefined;
  /** Every request of the case, in the order of sending. */
  readonly exchanges: readonly ConformanceExchange[];
  /** How long the case took, in milliseconds. */
  readonly ms: number;
}

/**
 * How many cases ended in which way.
 *
 * @experimental
 */
export interface ConformanceCounts {
  readonly passed: number;
  readonly failed: number;
  readonly notJudged: number;
}

/**
 * The result of `runConformance`.
 *
 * @experimental
 */
export interface ConformanceReport extends ConformanceCounts {
  /** One report for each case, in the order of the cases. */
  readonly results: readonly ConformanceCaseReport[];
  /** How many failed cases are a `must`. The receiver conforms when it is 0. */
  readonly failedMust: number;
  /** The same reports by group. Groups without a case are left out. */
  readonly byGroup: readonly (ConformanceCounts & {
    readonly group: ConformanceGroup;
    readonly results: readonly ConformanceCaseReport[];
  })[];
  /** What no run can prove, also when every case passed. */
  readonly neverProven: readonly NeverProven[];
}

/**
 * Options of `runConformance`.
 *
 * @experimental
 */
export interface RunConformanceOptions {
  /** Called before each case, to show progress. */
  readonly onStart?: ((started: ConformanceCase) => unknown) | undefined;
  /** Called after each case, in the order in which they end. */
  readonly onResult?: ((result: ConformanceCaseReport) => unknown) | undefined;
  /**
   * How many cases run at the same time, except those that must run alone, which then come last. More than 1 saves
   * time with a slow receiver. Whole number from 1 to 100, default 1.
   */
  readonly concurrency?: number | undefined;
  /** When it aborts, the run ends before the next case. The report has the cases that have run. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs conformance cases without a test runner, and returns a report.
 *
 * Rejects when a case throws anything but a `ConformanceFailure`. That is a bug of this library.
 *
 * @example
 * const cases = receiverConformance({ target: "http://127.0.0.1:3000/webhooks/gateway", secret });
 * const { results, failedMust } = await runConformance(cases);
 * @experimental
 */
export async function runConformance(
  cases: readonly ConformanceCase[],
  { onStart, onResult, concurrency, signal }: RunConformanceOptions = {},
): Promise<ConformanceReport> {
  const atOnce = integerOption("concurrency", concurrency, CONCURRENCY);
  const ended: ConformanceCaseReport[] = [];
  const running = new Set<Promise<void>>();
  for (const [at, one] of inRunningOrder(cases, atOnce)) {
    while (running.size >= (one.runsAlone ? 1 : atOnce)) await Promise.race(running);
    if (signal?.aborted === true) break;
    onStart?.(one);
    const work = runCase(one).then((report) => {
      running.delete(work);
      ended[at] = report;
      onResult?.(report);
    });
    running.add(work);
    if (one.runsAlone) await work;
  }
  await Promise.all(running);
  // Leaves out the places of cases that have not run.
  const results = ended.flat();
  const failed = results.filter(({ result }) => result === "failed");
  return {
    results,
    ...count(results),
    failedMust: failed.filter(({ level }) => level === "must").length,
    byGroup: CONFORMANCE_GROUPS.flatMap((group) => {
      const own = results.filter((report) => report.group === group);
      return own.length === 0 ? [] : [{ group, ...count(own), results: own }];
    }),
    neverProven: NEVER_PROVEN,
  };
}

/** With their places. Cases that run alone come last, except the first ones, on which the others rest. */
function inRunningOrder(cases: readonly ConformanceCase[], atOnce: number) {
  const placed = [...cases.entries()];
  const first = atOnce === 1 ? -1 : cases.findIndex(({ runsAlone }) => !runsAlone);
  if (first < 0) return placed;
  const later = placed.splice(first);
  return [...placed, ...later.sort(([, a], [, b]) => Number(a.runsAlone) - Number(b.runsAlone))];
}

async function runCase(one: ConformanceCase): Promise<ConformanceCaseReport> {
  const { id, level, group, title, why, fix } = one;
  const description = { id, level, group, title, why, fix };
  const startedAt = performance.now();
  try {
    const ended = await one.run();
    return { ...description, ...ended, ms: performance.now() - startedAt };
  } catch (error) {
    if (!(error instanceof ConformanceFailure)) throw error;
    const { message: reason, failureCode: code, exchanges } = error;
    const own = { level: error.level, fix: error.fix };
    const ms = performance.now() - startedAt;
    return { ...description, ...own, result: "failed", reason, code, exchanges, ms };
  }
}

function count(results: readonly ConformanceCaseReport[]): ConformanceCounts {
  const of = (result: ConformanceCaseReport["result"]): number =>
    results.filter((one) => one.result === result).length;
  return { passed: of("passed"), failed: of("failed"), notJudged: of("not_judged") };
}
