import { beforeAll, describe, expect, test } from "vitest";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import type { ConformanceReport } from "../../kit/conformance/run-conformance.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { rowsOf } from "./flaw.js";
import { inPool, judge } from "./judge.js";
import { RIGHT_RECEIVERS } from "./right-receivers.js";
import { RELUCTANT, VARIANTS } from "./variants.js";

/** Each runs many cases, so that fewer of them share a processor. */
const AT_A_TIME = 12;
/** Each case meets a third of the unusual receivers here. `npm run flaws` judges them all by all cases. */
const PART = 3;

const IDS = receiverConformance({ target: "http://127.0.0.1:1/", secret: TEST_SECRET }).map(
  ({ id }) => id,
);
const partOf = (at: number) => IDS.filter((_, n) => (n + at) % PART === 0);

const right = RIGHT_RECEIVERS.map(([name, createServer]) => {
  return { name: `a right receiver ${name}`, createServer, options: undefined, only: IDS };
});
const variants = rowsOf(VARIANTS).map(({ does, ...row }, at) => ({
  ...row,
  name: `a receiver that ${does}`,
  only: partOf(at),
}));
const innocent = [...right, ...variants];
const reluctant = rowsOf(RELUCTANT).map(({ does, ...row }) => ({
  ...row,
  name: `a receiver that ${does}`,
  only: IDS,
}));

describe("receivers without a flaw", () => {
  const reports = new Map<string, ConformanceReport>();

  beforeAll(async () => {
    await inPool(
      [...innocent, ...reluctant],
      AT_A_TIME,
      async ({ name, createServer, options, only }) => {
        reports.set(name, await judge(createServer, options, only));
      },
    );
  }, 1_200_000);

  test.each(innocent)("$name is not accused", ({ name, only }) => {
    const { results = [] } = reports.get(name) ?? {};
    expect(results).toHaveLength(only.length);
    const others = results.filter(({ result }) => result !== "passed");
    expect(others.map(({ id, result, reason }) => [id, result, reason])).toEqual([]);
  });

  test.each(reluctant)("$name is not accused with a must", ({ name, only }) => {
    const { results = [] } = reports.get(name) ?? {};
    expect(results).toHaveLength(only.length);
    const accused = results.filter(({ result, level }) => result === "failed" && level === "must");
    expect(accused.map(({ id, reason }) => [id, reason])).toEqual([]);
  });
});
