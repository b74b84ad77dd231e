import { expect, test } from "vitest";
import type { ConformanceResult } from "../../kit/conformance/conformance-case.js";
import { runOrSkip } from "../../kit/run-or-skip.js";

const caseWith = (result: ConformanceResult["result"], reason?: string) => ({
  run: () => Promise.resolve({ result, reason, exchanges: [] }),
});

async function skippedBy(one: ReturnType<typeof caseWith>): Promise<readonly unknown[]> {
  const skipped: unknown[] = [];
  await runOrSkip(one)({ skip: (reason) => skipped.push(reason) });
  return skipped;
}

test("a conformance case that is not judged skips its test with the reason", async () => {
  expect(await skippedBy(caseWith("not_judged", "pass the option handled"))).toEqual([
    "pass the option handled",
  ]);
  expect(await skippedBy(caseWith("passed", "a note"))).toEqual([]);
});

test("a conformance case that fails fails its test", async () => {
  const failing = { run: () => Promise.reject(new Error("expected 2xx")) };
  await expect(runOrSkip(failing)({ skip: () => undefined })).rejects.toThrow("expected 2xx");
});

test("a runner without skipping gets a function without parameters, and the case passes", async () => {
  const run = runOrSkip(caseWith("not_judged"));
  expect(run).toHaveLength(0);
  await expect(run()).resolves.toBeUndefined();
});
