import { beforeAll, expect, test } from "vitest";
import type { ConformanceReport } from "../../kit/conformance/run-conformance.js";
import { describeService } from "../support/describe-service.js";
import { FLAWED, KINDS, missingOf } from "./flaws.js";
import { inPool } from "./judge.js";

test("there are at least 120 flawed receivers, each with another flaw", () => {
  const names = FLAWED.map(({ kind, does }) => `${kind} ${does}`);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(120);
});

for (const kind of KINDS) {
  describeService(`flawed receivers in ${kind}`, missingOf(kind), () => {
    const flawed = FLAWED.filter((one) => one.kind === kind);
    const reports = new Map<string, ConformanceReport>();
    const isProcess = kind !== "JavaScript";

    beforeAll(async () => {
      // Those that wait for a time-out come first, so that the others run meanwhile.
      const ordered = [true, false].flatMap((isFirst) =>
        flawed.filter(({ isSlow = false }) => isSlow === isFirst),
      );
      // Most receivers wait for something, so many of them share a processor.
      await inPool(ordered, isProcess ? 4 : 24, async ({ does, caughtBy, judge }) => {
        reports.set(does, await judge(isProcess ? ["alarm", ...caughtBy] : caughtBy));
      });
    }, 1_200_000);

    const rows = flawed.map((row) => [row.does, row.caughtBy.join(", "), row.caughtBy] as const);
    test.each(rows)(`a receiver in ${kind} that %s is convicted by %s`, (does, _, caughtBy) => {
      const { results = [] } = reports.get(does) ?? {};
      const failed = results.filter(({ result }) => result === "failed");
      // It is one flaw: behind nginx and in other languages, plain deliveries are handled.
      expect(failed.map(({ id, reason }) => [id, reason]).sort()).toEqual(
        caughtBy.toSorted().map((id) => [id, expect.any(String) as string]),
      );
    });
  });
}
