import { describe, expect, it } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import type { ConformanceOptions } from "../../kit/conformance/conformance-options.js";
import { FLAWED } from "../flawed/flaws.js";
import {
  HANDLES_DUPLICATES,
  idsOf,
  ledgerReceiver,
  runSuite,
} from "../support/testing/run-suite.js";
import { createLedger } from "../support/ledger.js";

const NO_PROBES = { handled: undefined, whileFailing: undefined, whileSlow: undefined };

/** Runs the whole suite against one of the flawed receivers. */
function judgeFlaw(flaw: string, options: Partial<ConformanceOptions> = {}) {
  const found = FLAWED.find(({ kind, does }) => kind === "JavaScript" && does === flaw);
  if (found === undefined) throw new Error(`no receiver ${flaw}`);
  return found.judge(undefined, options);
}

// That each flaw is caught at all is tested in test/flawed.
describe.concurrent("receiverConformance", () => {
  it.each<[string, readonly string[]]>([
    ["remembers no ids", HANDLES_DUPLICATES],
    [
      "answers before it handles",
      ["failure_sent_again", "ten_failures_sent_again", "late_failure_released"],
    ],
    ["answers 401 to a wrong signature", ["wrong_secret_sent_again", "rewritten_body_sent_again"]],
    ["drops old deliveries", ["drifted_clock_sent_again", "stale", "future"]],
    ["drops bodies over the limit", ["oversize", "big_forgery", "unlimited_body"]],
    ["remembers ids in lower case", ["duplicate_handled_once"]],
    ["answers the expected signature in hex", ["leaked_signature"]],
  ])("receiverConformance says only what is wrong of a receiver that %s", async (flaw, caught) => {
    expect(idsOf(await judgeFlaw(flaw), "failed")).toEqual(caught);
  });

  it.each<[string, string, Partial<ConformanceOptions>]>([
    // A delivery in a queue that survives the process is handled after the answer as well.
    ["drops old deliveries", "drifted_clock_sent_again", NO_PROBES],
    ["drops bodies over the limit", "oversize", NO_PROBES],
    ["remembers 8 characters of an id", "duplicate_handled_once", NO_PROBES],
    ["keeps the current delivery in one variable", "concurrent_deliveries", NO_PROBES],
    ["acknowledges failed deliveries", "failure_sent_again", { whileFailing: undefined }],
  ])("a flaw that cannot be seen is not judged: the receiver %s", async (flaw, unseen, options) => {
    expect(idsOf(await judgeFlaw(flaw, options), "not_judged")).toContain(unseen);
  });

  it("a receiver that remembers ids in lower case is caught by the outcomes that it names", async () => {
    const store = memoryStore();
    const folding: DeliveryStore = {
      ...store,
      claim: (id, ...rest) => store.claim(id.toLowerCase(), ...rest),
      complete: (id, ...rest) => store.complete(id.toLowerCase(), ...rest),
    };
    const target = ledgerReceiver(createLedger(), { store: folding });
    expect(idsOf(await runSuite({ target }), "failed")).toEqual(["duplicate_handled_once"]);
  });

  it("flaws that need no probe are caught without one", async () => {
    const failedBy = async (flaw: string) => idsOf(await judgeFlaw(flaw, NO_PROBES), "failed");
    expect(await failedBy("verifies JSON serialized again")).toContain("exact_bytes");
    expect(await failedBy("answers 401 to a wrong signature")).toContain("wrong_secret_sent_again");
    expect(await failedBy("also accepts an empty secret")).toContain("guessable_secret");
    expect(await failedBy("answers the expected signature in hex")).toContain("leaked_signature");
    expect(await failedBy("remembers no ids")).toEqual([]);
  });
});
