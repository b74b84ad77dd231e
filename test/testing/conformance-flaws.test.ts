import { nodeHandler } from "../../adapters/node.js";
import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/index.js";
import { handWrittenReceiver, type ReceiverFlaw } from "../support/testing/flawed-receivers.js";
import {
  idsOf,
  judgeListener,
  judgeTarget,
  ledgerReceiver,
} from "../support/testing/judged-receivers.js";
import { createLedger } from "../support/ledger.js";

/** What answers 401 or 400 to everything that it cannot verify loses under a mistake on its side. */
const FINAL_STATUSES = [
  "wrong_secret_sent_again",
  "unsigned_sent_again",
  "drifted_clock_sent_again",
  "rewritten_body_sent_again",
  "lost_headers_sent_again",
];

describe("receiverConformance", () => {
  it("passes a receiver that is written by hand, without a line of ours", async () => {
    const report = await judgeListener((ledger) => handWrittenReceiver(ledger));
    expect(idsOf(report, "failed")).toEqual([]);
    expect(idsOf(report, "not_judged")).toEqual([]);
  });

  it.each<[ReceiverFlaw, string[]]>([
    ["answers before it handles", ["failure_sent_again"]],
    [
      "handles copies again",
      [
        ...["duplicate_handled_once", "retry_signed_anew", "copy_by_id_alone"],
        ...["concurrent_copies_handled_once", "late_handler_counts"],
      ],
    ],
    ["answers 409 for ever after a late handler", ["late_handler_counts"]],
    ["forgets a handler that is late", ["late_handler_counts"]],
    ["verifies JSON written anew", ["exact_bytes", "other_bytes", "other_bytes_same_text"]],
    [
      "answers 401 to whatever it does not know",
      [
        ...FINAL_STATUSES,
        ...["oversize", "unknown_webhook_type", "unreadable_body", "invalid_utf8"],
      ],
    ],
    ["believes X-Webhook-Type", ["type_flip"]],
    ["decodes before it verifies", ["other_bytes_same_text"]],
    ["decodes each piece by itself", ["other_bytes_same_text", "split_characters"]],
    ["answers with the parser's message", ["silent_answers"]],
    ["acknowledges a copy in flight", ["failure_sent_again"]],
    ["acknowledges what has failed", ["failure_sent_again"]],
    ["remembers what has failed", ["failure_sent_again"]],
    ["acknowledges and drops what is old", ["drifted_clock_sent_again", "stale", "future"]],
    ["acknowledges and drops what is big", ["oversize", "big_forgery"]],
    ["compares a quarter of the signature", ["partial_signature"]],
    ["skips a digit of the signature", ["partial_signature"]],
    ["remembers 8 characters of an id", ["duplicate_handled_once"]],
    ["remembers ids in lower case", ["duplicate_handled_once"]],
  ])("catches one that %s", async (flaw, caught) => {
    const report = await judgeListener((ledger) => handWrittenReceiver(ledger, flaw), {
      timeoutMs: 5_000,
    });
    expect(idsOf(report, "failed")).toEqual(caught);
  });

  it("catches one that remembers what it has not verified", async () => {
    const flaw = "remembers what it has not verified";
    const report = await judgeListener((ledger) => handWrittenReceiver(ledger, flaw));
    expect(idsOf(report, "failed")).toContain("forged_copy");
  });

  it("catches one of ours that is told to reject", async () => {
    const report = await judgeListener((ledger) =>
      nodeHandler(ledgerReceiver(ledger, { unverifiable: "reject" })),
    );
    expect(idsOf(report, "failed")).toEqual([...FINAL_STATUSES, "unlisted_statuses"]);
  });

  it.each<[ReceiverFlaw, string]>([
    // What is in a queue that survives the process is handled later, too.
    ["answers before it handles", "acknowledged_after_handling"],
    ["acknowledges and drops what is old", "drifted_clock_sent_again"],
    ["acknowledges and drops what is big", "oversize"],
    ["remembers 8 characters of an id", "duplicate_handled_once"],
  ])("passes no flaw that it cannot see: one that %s", async (flaw, unseen) => {
    const probes = flaw === "answers before it handles" ? {} : { handled: undefined };
    const report = await judgeListener((ledger) => handWrittenReceiver(ledger, flaw), probes);
    expect(idsOf(report, "not_judged")).toContain(unseen);
  });

  it.each<[string, (id: string) => string]>([
    ["8 characters of an id", (id) => id.slice(0, 8)],
    ["ids in lower case", (id) => id.toLowerCase()],
  ])("catches one that remembers %s by the outcomes that it names", async (_, fold) => {
    const store = memoryStore();
    const target = ledgerReceiver(createLedger(), {
      store: {
        ...store,
        claim: (id, ...rest) => store.claim(fold(id), ...rest),
        complete: (id, ...rest) => store.complete(fold(id), ...rest),
      },
    });
    expect(idsOf(await judgeTarget({ target }), "failed")).toEqual(["duplicate_handled_once"]);
  });

  it("sees the flaws that need no probe without one", async () => {
    const probes = { handled: undefined, whileFailing: undefined, whileSlow: undefined };
    const judge = async (flaw: ReceiverFlaw) =>
      idsOf(await judgeListener((ledger) => handWrittenReceiver(ledger, flaw), probes), "failed");
    expect(await judge("verifies JSON written anew")).toContain("exact_bytes");
    expect(await judge("answers 401 to whatever it does not know")).toContain(
      "wrong_secret_sent_again",
    );
    expect(await judge("handles copies again")).toEqual([]);
  });
});
