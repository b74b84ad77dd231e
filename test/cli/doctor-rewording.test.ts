import { expect, test } from "vitest";
import { causesOf } from "../../cli/doctor/closing-report.js";
import { CLI_NAMES } from "../../cli/doctor/doctor-options.js";
import { countTrusting, isFailure, unprovenIn } from "../../cli/doctor/not-proven.js";
import type { ConformanceOptions } from "../../kit/conformance/conformance-options.js";
import { conformanceCases } from "../../kit/conformance/receiver-conformance.js";
import {
  runConformance,
  type ConformanceCaseReport,
} from "../../kit/conformance/run-conformance.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { createLedger } from "../support/ledger.js";
import { answering, ledgerReceiver } from "../support/testing/run-suite.js";

/** What doctor concludes from its cases. */
function conclusions(ends: readonly ConformanceCaseReport[]) {
  const counted = { strict: true, "require-judged": true };
  return {
    exitCode: Number(ends.some((end) => isFailure(end, counted))),
    failures: ends.filter((end) => isFailure(end, counted)).map(({ id }) => id),
    changeFirst: causesOf(ends).map(({ change, ends: own }) => [change, own.map(({ id }) => id)]),
    notProven: unprovenIn(ends),
    trusting: countTrusting(ends),
  };
}

const ledger = createLedger();
const failing = (): Promise<never> => Promise.reject(new Error("the probe is down"));

test.each<[string, Partial<ConformanceOptions>]>([
  ["our receiver", {}],
  ["our receiver of alarms alone", { types: ["new_alarm"] }],
  ["our receiver with a count", { handled: ledger.handled }],
  ["our receiver with a probe that fails", { handled: failing, whileFailing: failing }],
  ["our receiver with a short secret", { secret: "whsec_short" }],
  ["a receiver that answers 200", { target: answering(200) }],
  ["one that answers 200 and handles nothing", { target: answering(200), handled: () => 0 }],
  ["one that handles everything twice", { target: answering(200), handled: () => 2 }],
  ["one that answers 401", { target: answering(401) }],
  ["one that answers 405", { target: answering(405) }],
  ["one that answers 409", { target: answering(409) }],
  ["a rate limiter", { target: answering(429) }],
  ["one that never answers", { target: () => Promise.reject(new Error("reset")) }],
])(
  "doctor concludes the same about %s when every reason has other words",
  async (_name, options) => {
    const { secret = TEST_SECRET } = options;
    const cases = conformanceCases(
      {
        target: ledgerReceiver(ledger, { secret }),
        secret,
        handledWithinMs: 5,
        timeoutMs: 10_000,
        ...options,
      },
      CLI_NAMES,
    );
    // The target of doctor is a URL.
    const quick = cases.filter(
      ({ id }) => id !== "late_effects" && id !== "refusal_forgets_nothing",
    );
    const { results } = await runConformance(quick);
    const ends = results.filter(({ need }) => need !== "url");
    for (const { result, code, need, id } of ends) {
      expect(code !== undefined, id).toBe(result === "failed");
      if (result === "not_judged") expect(need, id).toBeDefined();
    }
    const reworded = ends.map((end) => ({ ...end, reason: "It is said otherwise." }));
    expect(conclusions(reworded)).toEqual(conclusions(ends));
  },
);
