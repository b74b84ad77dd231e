import { nodeHandler } from "../../adapters/node.js";
import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/index.js";
import { handWrittenReceiver, type ReceiverFlaw } from "../support/testing/flawed-receivers.js";
import {
  idsOf,
  runSuiteOnListener,
  runSuite,
  ledgerReceiver,
} from "../support/testing/run-suite.js";
import { createLedger } from "../support/ledger.js";

/** The cases that a receiver fails which answers 400 or 401 to everything it cannot verify. */
const FINAL_STATUSES = [
  "wrong_secret_sent_again",
  "unsigned_sent_again",
  "drifted_clock_sent_again",
  "rewritten_body_sent_again",
  "lost_headers_sent_again",
];

describe("receiverConformance", () => {
  it("a receiver without this library's code passes every case", async () => {
    const report = await runSuiteOnListener((ledger) => handWrittenReceiver(ledger));
    expect(idsOf(report, "failed")).toEqual([]);
    expect(idsOf(report, "not_judged")).toEqual([]);
  });

  it.each<[ReceiverFlaw, string[]]>([
    ["answers before it handles", ["failure_sent_again"]],
    [
      "handles duplicates again",
      [
        ...["duplicate_handled_once", "retry_with_new_signature", "duplicate_by_id_alone"],
        ...["concurrent_duplicates_handled_once", "late_handler_counts"],
      ],
    ],
    ["answers 409 forever after a late handler", ["late_handler_counts"]],
    ["forgets late handlers", ["late_handler_counts"]],
    ["verifies re-serialized JSON", ["exact_bytes", "other_bytes", "other_bytes_same_text"]],
    [
      "answers 401 to everything unknown",
      [
        ...FINAL_STATUSES,
        ...["oversize", "unknown_webhook_type", "unreadable_body", "invalid_utf8"],
      ],
    ],
    ["believes X-Webhook-Type", ["type_flip"]],
    ["decodes before it verifies", ["other_bytes_same_text"]],
    ["decodes each packet separately", ["other_bytes_same_text", "split_characters"]],
    ["answers with the parser's message", ["no_echo"]],
    ["acknowledges a duplicate in flight", ["failure_sent_again"]],
    ["acknowledges failed deliveries", ["failure_sent_again"]],
    ["remembers failed deliveries as handled", ["failure_sent_again"]],
    ["acknowledges and drops old deliveries", ["drifted_clock_sent_again", "stale", "future"]],
    ["acknowledges and drops big bodies", ["oversize", "big_forgery"]],
    ["compares a quarter of the signature", ["partial_signature"]],
    ["skips a digit of the signature", ["partial_signature"]],
    ["remembers 8 characters of an id", ["duplicate_handled_once"]],
    ["remembers ids in lower case", ["duplicate_handled_once"]],
  ])("receiverConformance catches a receiver that %s", async (flaw, caught) => {
    const report = await runSuiteOnListener((ledger) => handWrittenReceiver(ledger, flaw), {
      timeoutMs: 5_000,
    });
    expect(idsOf(report, "failed")).toEqual(caught);
  });

  it("receiverConformance catches a receiver that remembers unverified ids", async () => {
    const flaw = "remembers unverified ids";
    const report = await runSuiteOnListener((ledger) => handWrittenReceiver(ledger, flaw));
    expect(idsOf(report, "failed")).toContain("forged_duplicate");
  });

  it('receiverConformance catches the option unverifiable: "reject"', async () => {
    const report = await runSuiteOnListener((ledger) =>
      nodeHandler(ledgerReceiver(ledger, { unverifiable: "reject" })),
    );
    expect(idsOf(report, "failed")).toEqual([...FINAL_STATUSES, "unlisted_statuses"]);
  });

  it.each<[ReceiverFlaw, string]>([
    // A delivery in a queue that survives the process is handled after the answer as well.
    ["answers before it handles", "acknowledged_after_handling"],
    ["acknowledges and drops old deliveries", "drifted_clock_sent_again"],
    ["acknowledges and drops big bodies", "oversize"],
    ["remembers 8 characters of an id", "duplicate_handled_once"],
  ])("a flaw that cannot be seen is not judged: the receiver %s", async (flaw, unseen) => {
    const probes = flaw === "answers before it handles" ? {} : { handled: undefined };
    const report = await runSuiteOnListener((ledger) => handWrittenReceiver(ledger, flaw), probes);
    expect(idsOf(report, "not_judged")).toContain(unseen);
  });

  it.each<[string, (id: string) => string]>([
    ["8 characters of an id", (id) => id.slice(0, 8)],
    ["ids in lower case", (id) => id.toLowerCase()],
  ])(
    "receiverConformance catches a receiver that remembers %s by the outcomes that it names",
    async (_, fold) => {
      const store = memoryStore();
      const target = ledgerReceiver(createLedger(), {
        store: {
          ...store,
          claim: (id, ...rest) => store.claim(fold(id), ...rest),
          complete: (id, ...rest) => store.complete(fold(id), ...rest),
        },
      });
      expect(idsOf(await runSuite({ target }), "failed")).toEqual(["duplicate_handled_once"]);
    },
  );

  it("flaws that need no probe are caught without one", async () => {
    const probes = { handled: undefined, whileFailing: undefined, whileSlow: undefined };
    const failedBy = async (flaw: ReceiverFlaw) =>
      idsOf(
        await runSuiteOnListener((ledger) => handWrittenReceiver(ledger, flaw), probes),
        "failed",
      );
    expect(await failedBy("verifies re-serialized JSON")).toContain("exact_bytes");
    expect(await failedBy("answers 401 to everything unknown")).toContain(
      "wrong_secret_sent_again",
    );
    expect(await failedBy("handles duplicates again")).toEqual([]);
  });
});
