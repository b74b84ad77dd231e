import type { ConformanceCase } from "./conformance/conformance-case.js";

/**
 * What a case needs of the context that a test runner gives to a test. Vitest's and Node's have it.
 *
 * @experimental
 */
export interface SkippableTest {
  /** Marks the running test as skipped. */
  readonly skip?: ((reason: string) => unknown) | undefined;
}

/**
 * Makes the function of a test from a conformance case. A case that is not judged proves nothing, so its test is
 * skipped with the reason, and not ticked. The test fails with the `ConformanceFailure` of the case.
 *
 * ```ts
 * for (const one of receiverConformance(options)) test(one.title, runOrSkip(one));
 * ```
 *
 * Vitest and `node:test` pass a context that can skip. Jest passes none: there a case that is not judged passes,
 * so read the results of `runConformance` as well.
 */
export function runOrSkip({
  run,
}: Pick<ConformanceCase, "run">): (context?: SkippableTest) => Promise<void> {
  // Rest parameters, since Jest takes a declared one for its callback.
  return async (...[context]: [context?: SkippableTest]) => {
    const { result, reason } = await run();
    if (result === "not_judged") context?.skip?.(reason ?? "not judged");
  };
}
