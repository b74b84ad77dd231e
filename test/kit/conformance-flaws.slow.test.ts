import { describe, expect, it } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import type { ConformanceOptions } from "../../kit/conformance/conformance-options.js";
import {
  keyed,
  Meeting,
  overriding,
  refusing,
  rememberingLast,
  replacing,
  type MakeReceiver,
} from "../flawed/flaw.js";
import { judge } from "../flawed/judge.js";
import type { Request } from "../flawed/right-receiver.js";
import { TEST_SECRET } from "../support/deliveries.js";
import {
  HANDLES_DUPLICATES,
  idsOf,
  ledgerReceiver,
  runSuite,
} from "../support/testing/run-suite.js";
import { createLedger } from "../support/ledger.js";

const NO_PROBES = { handled: undefined, whileFailing: undefined, whileSlow: undefined };

/** What a receiver does wrong, after "a receiver that". */
const FLAWS = {
  "remembers no ids": overriding((right) => ({
    handleOnce: (request, record) => right.run(request, request.id, record),
    remember: () => undefined,
  })),
  "remembers ids in lower case": keyed(({ id }) => id.toLowerCase()),
  "remembers the last 300 ids": rememberingLast(300),
  "remembers 8 characters of an id": keyed(({ id }) => id.slice(0, 8)),
  "answers before it handles": replacing("run", (right, request, key, record) => {
    void right.run(request, key, record);
    right.remember(key, request);
    return Promise.resolve([202, "accepted"]);
  }),
  "acknowledges failed deliveries": overriding({ failed: () => [200, "failed"] }),
  "answers 401 to a wrong signature": refusing("mismatch", 401),
  "drops old deliveries": refusing("stale", 200),
  "drops bodies over the limit": refusing("too large", 200),
  "answers the expected signature in hex": replacing("refuse", (right, reason, request) =>
    request === undefined
      ? right.refuse(reason)
      : [409, `expected v1=${right.mac(TEST_SECRET, request).toString("hex")}`],
  ),
  "also accepts an empty secret": overriding({ secrets: () => [TEST_SECRET, ""] }),
  "verifies JSON serialized again": replacing("isSigned", (right, request) => {
    try {
      const body = Buffer.from(JSON.stringify(JSON.parse(String(request.body))));
      return right.isSigned({ ...request, body });
    } catch {
      return false;
    }
  }),
  "keeps the current delivery in one variable": overriding((right) => {
    let current: Request;
    const meeting = new Meeting();
    return {
      async handleOnce(request, record) {
        current = request;
        await meeting.wait();
        return right.handleOnce(current, record);
      },
    };
  }),
} satisfies Readonly<Record<string, MakeReceiver>>;

type Flaw = keyof typeof FLAWS;

/** Runs the whole suite against a flawed receiver. */
function judgeFlaw(flaw: Flaw, options: Partial<ConformanceOptions> = {}) {
  return judge((ledger) => FLAWS[flaw](ledger).createServer(), options);
}

// That each flaw is caught at all is tested in test/flawed.
describe.concurrent("receiverConformance", () => {
  it.each<[Flaw, readonly string[]]>([
    // The last case comes after all groups.
    [
      "remembers no ids",
      // It has no time-out either.
      HANDLES_DUPLICATES.toSpliced(8, 0, "late_handler_answered").toSpliced(
        -1,
        0,
        "invalid_header_bytes",
      ),
    ],
    [
      "answers before it handles",
      ["failure_sent_again", "ten_failures_sent_again", "late_failure_released"],
    ],
    ["answers 401 to a wrong signature", ["wrong_secret_sent_again", "rewritten_body_sent_again"]],
    ["drops old deliveries", ["drifted_clock_sent_again", "stale", "future"]],
    ["drops bodies over the limit", ["oversize", "big_forgery", "unlimited_body"]],
    ["remembers ids in lower case", ["duplicate_handled_once"]],
    ["remembers the last 300 ids", ["late_effects"]],
    ["answers the expected signature in hex", ["leaked_signature"]],
  ])("receiverConformance says only what is wrong of a receiver that %s", async (flaw, caught) => {
    expect(idsOf(await judgeFlaw(flaw), "failed")).toEqual(caught);
  });

  it.each<[Flaw, string, Partial<ConformanceOptions>]>([
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
    const failedBy = async (flaw: Flaw) => idsOf(await judgeFlaw(flaw, NO_PROBES), "failed");
    expect(await failedBy("verifies JSON serialized again")).toContain("exact_bytes");
    expect(await failedBy("answers 401 to a wrong signature")).toContain("wrong_secret_sent_again");
    expect(await failedBy("also accepts an empty secret")).toContain("guessable_secret");
    expect(await failedBy("answers the expected signature in hex")).toContain("leaked_signature");
    expect(await failedBy("remembers no ids")).toEqual([]);
  });
});
