import { afterAll, beforeAll, expect, it, type TestContext } from "vitest";
import { loadFixtures } from "../../../kit/fixtures/load-fixtures.js";
import { replayFixtures } from "../../../kit/fixtures/replay-fixtures.js";
import { TEST_SECRET } from "../../support/deliveries.js";
import { describeService } from "../../support/describe-service.js";
import { fixturesFolder } from "../../support/fixtures.js";
import { idsOf } from "../../support/testing/run-suite.js";
import { FLAWS, HARMLESS } from "./flaws.js";
import {
  judgeReceiver,
  LANGUAGES,
  missingOf,
  startReceiver,
  workFolder,
  type ForeignReceiver,
} from "./language.js";

for (const language of LANGUAGES) {
  const { name } = language;
  describeService(`receivers in ${name}`, missingOf(language), () => {
    let work: ReturnType<typeof workFolder>;

    const start = async (
      flaw: string,
      { onTestFinished }: TestContext,
    ): Promise<ForeignReceiver> => {
      const receiver = await startReceiver(language, work.folder, flaw);
      onTestFinished(() => {
        receiver.stop();
      });
      return receiver;
    };

    beforeAll(() => {
      work = workFolder();
    });

    afterAll(() => {
      work.remove();
    });

    const right = [["", "does what the gateway asks for"] as const, ...HARMLESS[name]];
    for (const [flaw, what] of right) {
      // Side by side: a run of all cases mostly waits.
      it.concurrent(
        `no case accuses a receiver in ${name} that ${what}`,
        async (test) => {
          const report = await judgeReceiver(await start(flaw, test));
          const { serverFails = [] } = language;
          expect(idsOf(report, "failed").filter((id) => !serverFails.includes(id))).toEqual([]);
          expect(idsOf(report, "not_judged")).toEqual([]);
        },
        // A whole run with each of them, beside other tests.
        600_000,
      );
    }

    it(`a replay of the published fixtures does not accuse a receiver in ${name}`, async (test) => {
      const { origin } = await start("", test);
      const { results } = await replayFixtures(
        `${origin}/webhook`,
        await loadFixtures(fixturesFolder),
        { secret: TEST_SECRET, resign: true, freshIds: true },
      );
      const different = results.filter(({ result }) => result === "different");
      expect(different.map((one) => [one.name, one.status, one.reason])).toEqual([]);
    });

    for (const [flaw, what, cases] of FLAWS[name]) {
      it(`the conformance cases convict a receiver in ${name} that ${what}`, async (test) => {
        const report = await judgeReceiver(await start(flaw, test), ["alarm", ...cases]);
        expect(idsOf(report, "failed")).toEqual(expect.arrayContaining([...cases]));
        // It is one flaw: plain deliveries are handled.
        expect(idsOf(report, "failed")).not.toContain("alarm");
      });
    }
  });
}
