import { beforeAll, expect, test } from "vitest";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import type { ConformanceReport } from "../../kit/conformance/run-conformance.js";
import { TEST_SECRET } from "../support/deliveries.js";
import type { Receivers } from "./flaw.js";
import { inPool, judge, type Order } from "./judge.js";

/** The ids of all cases. */
export const CASES: readonly string[] = receiverConformance({
  target: "http://127.0.0.1:1/",
  secret: TEST_SECRET,
}).map(({ id }) => id);

/** A receiver that the suite can judge. */
export interface Receiver {
  /** What it does, after "a receiver that". */
  readonly does: string;
  /** Whether it waits for a time-out. */
  readonly isSlow?: boolean;
  /** Starts it, and runs some of the cases. */
  readonly judge: (
    only: readonly string[],
    orders?: readonly Order[],
  ) => Promise<ConformanceReport>;
}

export function inJavaScript(receivers: Receivers): readonly Receiver[] {
  return Object.entries(receivers).map(([does, judged]) => {
    const [make, options = {}] = typeof judged === "function" ? [judged] : judged;
    return {
      does,
      isSlow: options.timeoutMs !== undefined,
      judge: (only, orders) =>
        judge((ledger) => make(ledger).createServer(), options, only, undefined, orders),
    };
  });
}

/**
 * Judges receivers before the tests, so many at a time, since most wait for something. Returns what gives a test the
 * results of one, by what it does.
 */
export function judgedBefore<T extends Receiver>(
  receivers: readonly T[],
  atATime: number,
  judgeOne: (receiver: T) => Promise<ConformanceReport>,
) {
  const reports = new Map<string, ConformanceReport>();
  beforeAll(async () => {
    // Those that wait for a time-out come first, so that the others run meanwhile.
    const ordered = [true, false].flatMap((isFirst) =>
      receivers.filter(({ isSlow = false }) => isSlow === isFirst),
    );
    await inPool(ordered, atATime, async (receiver) => {
      reports.set(receiver.does, await judgeOne(receiver));
    });
  }, 7_200_000);
  return (does: string) => reports.get(does)?.results ?? [];
}

/** Tests that each flaw fails the cases that it stands under, and no other: themes of flaws by the ids of those cases. */
export function convicts<T>(
  kind: string,
  receiversOf: (flawed: T) => readonly Receiver[],
  ...themes: readonly Readonly<Record<string, T>>[]
): void {
  const rows = themes.flatMap(Object.entries<T>).flatMap(([cases, flawed]) => {
    const caughtBy = cases.split(" ");
    return receiversOf(flawed).map((row) => ({ ...row, cases: caughtBy.join(", "), caughtBy }));
  });
  const isProcess = kind !== "JavaScript";
  const resultsOf = judgedBefore(rows, isProcess ? 4 : 12, ({ caughtBy, ...row }) =>
    // It is one flaw: behind nginx and in other languages, plain deliveries are handled.
    row.judge(isProcess ? ["alarm", ...caughtBy] : caughtBy),
  );

  test(`no two flaws in ${kind} have the same name`, () => {
    expect(new Set(rows.map(({ does }) => does)).size).toBe(rows.length);
  });

  const title = `a receiver in ${kind} that %s is convicted by %s`;
  test.each(rows.map((row) => [row.does, row.cases, row.caughtBy] as const))(
    title,
    (does, _, caughtBy) => {
      const failed = resultsOf(does).filter(({ result }) => result === "failed");
      expect(failed.map(({ id, reason }) => [id, reason]).sort()).toEqual(
        caughtBy.toSorted().map((id) => [id, expect.any(String) as string]),
      );
    },
  );
}

/** Tests that receivers without a flaw pass the cases. */
export function acquits(
  kind: string,
  receivers: readonly Receiver[],
  cases: readonly string[] = CASES,
): void {
  const resultsOf = judgedBefore(receivers, 4, (receiver) => receiver.judge(cases));

  const names = receivers.map(({ does }) => does);
  test.each(names)(`a receiver in ${kind} that %s is not accused`, (does) => {
    const results = resultsOf(does);
    expect(results).toHaveLength(cases.length);
    const others = results.filter(({ result }) => result !== "passed");
    expect(others.map(({ id, result, reason }) => [id, result, reason])).toEqual([]);
  });
}
