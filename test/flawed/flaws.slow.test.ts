import { beforeAll, describe, expect, test } from "vitest";
import type { ConformanceReport } from "../../kit/conformance/run-conformance.js";
import { FLAWS } from "./flaws.js";
import { inPool, judge } from "./judge.js";

/** Most receivers wait for something, so many of them share a processor. */
const AT_A_TIME = 24;

const names = FLAWS.map(({ does }) => does);

test("there are at least 120 flawed receivers, each with another flaw", () => {
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(120);
});

describe("flawed receivers", () => {
  const reports = new Map<string, ConformanceReport>();

  beforeAll(async () => {
    // Those that wait for a time-out come first, so that the others run meanwhile.
    const [slow, quick] = [true, false].map((isSlow) =>
      FLAWS.filter(({ options }) => (options?.timeoutMs !== undefined) === isSlow),
    );
    await inPool(
      [...(slow ?? []), ...(quick ?? [])],
      AT_A_TIME,
      async ({ does, caughtBy, createServer, options }) => {
        reports.set(does, await judge(createServer, options, [caughtBy]));
      },
    );
  }, 1_200_000);

  test.each(FLAWS.map(({ does, caughtBy }) => [does, caughtBy] as const))(
    "a receiver that %s is convicted by %s",
    (does, caughtBy) => {
      const { results = [] } = reports.get(does) ?? {};
      expect(results.map(({ id, result, reason }) => [id, result, reason])).toEqual([
        [caughtBy, "failed", expect.any(String)],
      ]);
    },
  );
});
