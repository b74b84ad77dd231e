import { nodeHandler } from "../../adapters/node.js";
import { describe, expect, it } from "vitest";
import { handWrittenReceiver, type ReceiverFlaw } from "../support/flawed-receivers.js";
import { idsOf, judgeListener, ledgerReceiver } from "../support/judged-receivers.js";

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
    ["answers before it handles", ["acknowledged_after_handling", "failure_sent_again"]],
    [
      "handles copies again",
      ["duplicate_handled_once", "retry_signed_anew", "concurrent_copies_handled_once"],
    ],
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
  ])("catches one that %s", async (flaw, caught) => {
    const report = await judgeListener((ledger) => handWrittenReceiver(ledger, flaw));
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

  it("sees the flaws that need no probe without one", async () => {
    const probes = { handled: undefined, whileFailing: undefined };
    const judge = async (flaw: ReceiverFlaw) =>
      idsOf(await judgeListener((ledger) => handWrittenReceiver(ledger, flaw), probes), "failed");
    expect(await judge("verifies JSON written anew")).toContain("exact_bytes");
    expect(await judge("answers 401 to whatever it does not know")).toContain(
      "wrong_secret_sent_again",
    );
    expect(await judge("handles copies again")).toEqual([]);
  });
});
