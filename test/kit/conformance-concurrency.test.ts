import http from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import type { ConformanceCase } from "../../kit/conformance/conformance-case.js";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import { runConformance } from "../../kit/conformance/run-conformance.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { createLedger } from "../support/ledger.js";
import { serving } from "../support/serving.js";
import { idsOf, ledgerReceiver } from "../support/testing/run-suite.js";

/** A case that takes so many turns of the event loop. */
function caseOf(id: string, runsAlone: boolean, turns: number): ConformanceCase {
  return {
    ...{ id, level: "must", group: "acceptance", title: id, why: "w", fix: "f", runsAlone },
    async run() {
      for (let left = turns; left > 0; left--) await turn();
      return { result: "passed", exchanges: [] };
    },
  };
}

test("runConformance runs no more cases at once than it may, and one that runs alone beside none", async () => {
  const cases = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 5 })), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(cases, fc.integer({ min: 1, max: 5 }), async (shapes, concurrency) => {
      const all = shapes.map(([alone, turns], at) => caseOf(`case_${at}`, alone, turns));
      const running = new Set<string>();
      let most = 0;
      const { results } = await runConformance(all, {
        concurrency,
        onStart({ id, runsAlone }) {
          running.add(id);
          most = Math.max(most, running.size);
          if (runsAlone) expect(running).toEqual(new Set([id]));
        },
        onResult({ id }) {
          if (all.find((one) => one.id === id)?.runsAlone === true) expect(running.size).toBe(1);
          running.delete(id);
        },
      });
      expect(results.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
      expect(most).toBeLessThanOrEqual(concurrency);
      const canShare = shapes.some(([alone], at) => !alone && shapes[at + 1]?.[0] === false);
      if (canShare && concurrency > 1) expect(most).toBeGreaterThan(1);
    }),
  );
});

test("runConformance that is aborted waits for the cases that run, and starts no other", async () => {
  const abort = new AbortController();
  const started: string[] = [];
  const cases = ["a", "b", "c", "d"].map((id, at) => caseOf(id, false, at));
  const { results } = await runConformance(cases, {
    concurrency: 3,
    signal: abort.signal,
    onStart: ({ id }) => started.push(id),
    onResult() {
      abort.abort();
    },
  });
  expect(started).toEqual(["a", "b", "c"]);
  expect(results.map(({ id }) => id)).toEqual(started);
});

test.each([0, 1.5, "4", 101])("runConformance refuses concurrency %j", async (concurrency) => {
  const run = runConformance([], { concurrency: concurrency as number });
  await expect(run).rejects.toThrow("concurrency must be a whole number from 1 to 100");
});

test("a case that runs beside others leaves the handler as it is, and finds what it finds alone", async () => {
  const ledger = createLedger();
  const url = await serving(http.createServer(nodeHandler(ledgerReceiver(ledger))));
  const change = () => Promise.reject(new Error("it must run alone"));
  const cases = receiverConformance({
    target: url,
    secret: TEST_SECRET,
    handled: ledger.handled,
    whileFailing: change,
    whileSlow: change,
  });
  const report = await runConformance(
    cases.filter(({ runsAlone }) => !runsAlone),
    { concurrency: 8 },
  );
  expect(report.results.length).toBeGreaterThan(70);
  expect(idsOf(report, "failed")).toEqual([]);
  expect(idsOf(report, "not_judged")).toEqual([]);
});
