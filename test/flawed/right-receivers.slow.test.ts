import { beforeAll, describe, expect, test } from "vitest";
import type { ConformanceReport } from "../../kit/conformance/run-conformance.js";
import type { Ledger } from "../support/ledger.js";
import { inPool, judge } from "./judge.js";
import { RIGHT_RECEIVERS } from "./right-receivers.js";
import { VARIANTS } from "./variants.js";

/** Each runs the whole suite, so that fewer of them share a processor. */
const AT_A_TIME = 12;

const variants = VARIANTS.map(([does, Receiver, options]) => ({
  name: `a receiver that ${does}`,
  create: (ledger: Ledger) => new Receiver(ledger).createServer(),
  options,
}));
const right = RIGHT_RECEIVERS.map(([name, create]) => ({
  name: `a right receiver ${name}`,
  create,
  options: undefined,
}));
const innocent = [...right, ...variants];

describe("receivers without a flaw", () => {
  const reports = new Map<string, ConformanceReport>();

  beforeAll(async () => {
    await inPool(innocent, AT_A_TIME, async ({ name, create, options }) => {
      reports.set(name, await judge(create, options));
    });
  }, 240_000);

  test.each(innocent.map(({ name }) => name))("%s is not accused", (name) => {
    const { results = [] } = reports.get(name) ?? {};
    expect(results.length).toBeGreaterThan(60);
    const others = results.filter(({ result }) => result !== "passed");
    expect(others.map(({ id, result, reason }) => [id, result, reason])).toEqual([]);
  });
});
