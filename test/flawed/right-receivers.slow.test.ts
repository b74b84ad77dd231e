import { beforeAll, expect, it } from "vitest";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import type { ConformanceReport } from "../../kit/conformance/run-conformance.js";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { replayFixtures } from "../../kit/fixtures/replay-fixtures.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";
import { fixturesFolder } from "../support/fixtures.js";
import { INNOCENT, KINDS, missingOf, RELUCTANT, type Receiver } from "./flaws.js";
import { inPool, ORDERS, type Order } from "./judge.js";
import { startReceiver } from "./languages/flaws.js";
import { HARD_TO_SEE, UNUSUAL } from "./right-receivers.js";

/**
 * Each case meets a fifth of the unusual receivers here, twice, and every tenth of them backwards and shuffled too.
 * `npm run flaws` judges them all by all cases in each order.
 */
const PART = 5;
const ORDERED = 10;
const IDS = receiverConformance({ target: "http://127.0.0.1:1/", secret: TEST_SECRET }).map(
  ({ id }) => id,
);
const unusual = [UNUSUAL, HARD_TO_SEE].flatMap((rows) => Object.keys(rows));

/** The cases that judge a receiver here: all of them, unless it is an unusual one. */
function casesOf({ kind, does }: Pick<Receiver, "kind" | "does">): readonly string[] | undefined {
  const at = kind === "JavaScript" ? unusual.indexOf(does) : -1;
  return at === -1 ? undefined : IDS.filter((_, n) => (n + at) % PART === 0);
}

/** In JavaScript each order is a run of its own against the same server. */
function ordersOf({ kind, does }: Pick<Receiver, "kind" | "does">): readonly Order[] {
  if (kind !== "JavaScript") return ORDERS.slice(0, 1);
  return unusual.indexOf(does) % ORDERED === 0 ? ORDERS : ORDERS.slice(0, 2);
}

for (const kind of KINDS) {
  describeService(`receivers without a flaw in ${kind}`, missingOf(kind), () => {
    const innocent = INNOCENT.filter((one) => one.kind === kind);
    const hardToSee = RELUCTANT.filter((one) => one.kind === kind);
    const reports = new Map<string, ConformanceReport>();

    beforeAll(async () => {
      // Each runs many cases, so that fewer of them share a processor.
      await inPool([...innocent, ...hardToSee], 12, async (receiver) => {
        reports.set(receiver.does, await receiver.judge(casesOf(receiver), {}, ordersOf(receiver)));
      });
    }, 1_200_000);

    const resultsOf = (does: string) => {
      const { results = [] } = reports.get(does) ?? {};
      const without = kind === "PHP" ? 1 : 0;
      const cases = (casesOf({ kind, does }) ?? IDS).length - without;
      expect(results).toHaveLength(cases * ordersOf({ kind, does }).length);
      return results;
    };

    const named = (rows: readonly Receiver[]) => rows.map(({ does }) => does);

    it.each(named(innocent))(`a receiver in ${kind} that %s is not accused`, (does) => {
      const others = resultsOf(does).filter(({ result }) => result !== "passed");
      expect(others.map(({ id, result, reason }) => [id, result, reason])).toEqual([]);
    });

    it.each(named(hardToSee))(`a receiver in ${kind} that %s fails no must`, (does) => {
      const accused = resultsOf(does).filter(
        ({ result, level }) => result === "failed" && level === "must",
      );
      expect(accused.map(({ id, reason }) => [id, reason])).toEqual([]);
    });

    it.runIf(kind === "Python" || kind === "PHP")(
      `a replay of the published fixtures does not accuse a receiver in ${kind}`,
      async ({ onTestFinished }) => {
        const { origin, stop } = await startReceiver(kind as "Python" | "PHP");
        onTestFinished(stop);
        const { results } = await replayFixtures(
          `${origin}/webhook`,
          await loadFixtures(fixturesFolder),
          { secret: TEST_SECRET, resign: true, freshIds: true },
        );
        const different = results.filter(({ result }) => result === "different");
        expect(different.map((one) => [one.name, one.status, one.reason])).toEqual([]);
      },
    );
  });
}
