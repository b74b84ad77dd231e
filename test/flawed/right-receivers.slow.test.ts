import { beforeAll, describe, expect, test } from "vitest";
import type { ConformanceReport } from "../../kit/conformance/run-conformance.js";
import { rowsOf } from "./flaw.js";
import { inPool, judge } from "./judge.js";
import { RIGHT_RECEIVERS } from "./right-receivers.js";
import { RELUCTANT, VARIANTS } from "./variants.js";

/** Each runs the whole suite, so that fewer of them share a processor. */
const AT_A_TIME = 12;

const right = RIGHT_RECEIVERS.map(([name, createServer]) => {
  return { name: `a right receiver ${name}`, createServer, options: undefined };
});
const variants = rowsOf(VARIANTS).map(({ does, ...row }) => ({
  ...row,
  name: `a receiver that ${does}`,
}));
const innocent = [...right, ...variants];
const reluctant = rowsOf(RELUCTANT).map(({ does, ...row }) => ({
  ...row,
  name: `a receiver that ${does}`,
}));

describe("receivers without a flaw", () => {
  const reports = new Map<string, ConformanceReport>();

  beforeAll(async () => {
    await inPool(
      [...innocent, ...reluctant],
      AT_A_TIME,
      async ({ name, createServer, options }) => {
        reports.set(name, await judge(createServer, options));
      },
    );
  }, 1_200_000);

  test.each(innocent.map(({ name }) => name))("%s is not accused", (name) => {
    const { results = [] } = reports.get(name) ?? {};
    expect(results.length).toBeGreaterThan(60);
    const others = results.filter(({ result }) => result !== "passed");
    expect(others.map(({ id, result, reason }) => [id, result, reason])).toEqual([]);
  });

  test.each(reluctant.map(({ name }) => name))("%s is not accused with a must", (name) => {
    const { results = [] } = reports.get(name) ?? {};
    expect(results.length).toBeGreaterThan(60);
    const accused = results.filter(({ result, level }) => result === "failed" && level === "must");
    expect(accused.map(({ id, reason }) => [id, reason])).toEqual([]);
  });
});
