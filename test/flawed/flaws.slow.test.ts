import { beforeAll, describe, expect, test } from "vitest";
import type { ConformanceReport } from "../../kit/conformance/run-conformance.js";
import type { ShadowDifference } from "../../adapters/shadow/shadow.js";
import { behindShadow } from "./behind-shadow.js";
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
  /** Each flaw that `shadow` has named, with the case that convicts it. */
  const named = new Map<ShadowDifference, Set<string>>();

  beforeAll(async () => {
    // Those that wait for a time-out come first, so that the others run meanwhile.
    const [slow, quick] = [true, false].map((isSlow) =>
      FLAWS.filter(({ options }) => (options?.timeoutMs !== undefined) === isSlow),
    );
    await inPool(
      [...(slow ?? []), ...(quick ?? [])],
      AT_A_TIME,
      async ({ does, caughtBy, createServer, options }) => {
        const shadowed = behindShadow(createServer);
        reports.set(does, await judge(shadowed.createServer, options, [caughtBy]));
        for (const difference of shadowed.differences()) {
          named.set(difference, (named.get(difference) ?? new Set()).add(caughtBy));
        }
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

  test.each<[ShadowDifference, string[]]>([
    ["accepted_forgery", ["wrong_secret", "unsigned", "type_flip", "guessable_secret"]],
    ["accepted_stale", ["stale", "future"]],
    ["refused_genuine", ["missing_fields", "rare_values", "unknown_fields", "date_formats"]],
    ["final_status", ["drifted_clock_sent_again"]],
    ["final_refusal", ["wrong_secret_sent_again"]],
    ["not_retryable", ["content_types", "chunked"]],
  ])("shadow names %s where a status shows the flaw", (difference, cases) => {
    expect([...(named.get(difference) ?? [])]).toEqual(expect.arrayContaining(cases));
  });
});
