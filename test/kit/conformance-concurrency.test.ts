import http from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { slowRunNote } from "../../cli/doctor/report-run.js";
import { nodeHandler } from "../../adapters/node.js";
import type { ConformanceCase } from "../../kit/conformance/conformance-case.js";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import { runConformance } from "../../kit/conformance/run-conformance.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { createLedger } from "../support/ledger.js";
import { serving } from "../support/serving.js";
import { answerTo, idsOf, ledgerReceiver } from "../support/testing/run-suite.js";

/** A case that takes so many turns of the event loop. */
function caseOf(id: string, runsAlone: boolean, turns: number): ConformanceCase {
  return {
    id,
    level: "must",
    group: "acceptance",
    title: id,
    why: "w",
    fix: "f",
    runsAlone,
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

/** A receiver that answers in rounds: all requests that arrive before nothing else happens are one round. */
function receiverInRounds() {
  const receiver = ledgerReceiver();
  const rounds: number[] = [];
  const arrived: (() => void)[] = [];
  const answerAll = async (): Promise<void> => {
    for (let seen = -1, quiet = 0; quiet < 25; quiet++) {
      if (seen !== arrived.length) quiet = 0;
      seen = arrived.length;
      await turn();
    }
    rounds.push(arrived.length);
    for (const answer of arrived.splice(0)) answer();
  };
  const target = async (request: Request): Promise<Response> => {
    await new Promise<void>((answer) => {
      if (arrived.push(answer) === 1) void answerAll();
    });
    const { status, headers, body } = await answerTo(request, receiver);
    return new Response(body, { status, headers });
  };
  return { target, rounds };
}

/** Runs the suite, or a part of it, and returns how many requests were sent in each round. */
async function roundsOf(atOnce: number, ids?: readonly string[]): Promise<readonly number[]> {
  const { target, rounds } = receiverInRounds();
  const cases = receiverConformance({ target, secret: TEST_SECRET, requestsAtOnce: atOnce });
  const chosen = cases.filter(({ id }) => ids?.includes(id) ?? true);
  expect((await runConformance(chosen, { concurrency: atOnce })).failedMust).toBe(0);
  return rounds;
}

test.each([
  ["guessable_secret", 4],
  ["partial_signature", 4],
  ["stale", 5],
  ["missing_fields", 4],
])("the requests of the case %s go out one after another, or in groups", async (id, alone) => {
  const oneByOne = await roundsOf(1, [id]);
  expect(Math.max(...oneByOne)).toBe(1);
  const inGroups = await roundsOf(4, [id]);
  expect(Math.max(...inGroups)).toBe(4);
  expect(inGroups.length).toBeLessThanOrEqual(Math.ceil(oneByOne.length / 4) + alone);
});

test.each([1, 4])("doctor's estimate is true for a run with --concurrency %i", async (atOnce) => {
  const rounds = await roundsOf(atOnce);
  // With a minute an answer, the minutes are the rounds.
  const received = { status: 200, headers: {}, body: "", ms: 60_000 };
  const exchanges = [{ sent: { method: "POST", headers: [], bytes: 0 }, received }];
  const cases = receiverConformance({ target: "http://127.0.0.1:1/", secret: TEST_SECRET });
  const [first] = (await runConformance([caseOf("a", false, 0)])).results;
  const ends = first === undefined ? [] : [{ ...first, exchanges }];
  const [, minutes] =
    /about (\d+) minutes/.exec(slowRunNote(ends, cases.length, atOnce) ?? "") ?? [];
  expect(Number(minutes) / rounds.length).toBeGreaterThan(0.75);
  expect(Number(minutes) / rounds.length).toBeLessThan(1.25);
});
