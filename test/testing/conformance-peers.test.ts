import { expect, it } from "vitest";
import type { ConformanceReport } from "../../src/testing/conformance/run-conformance.js";
import { judgeListener } from "../support/testing/judged-receivers.js";
import { octokitReceiver, standardWebhooksReceiver } from "../support/testing/peer-receivers.js";

/** What fails without a memory of ids. */
const HANDLES_COPIES_AGAIN = [
  "duplicate_handled_once",
  "retry_signed_anew",
  "copy_by_id_alone",
  "concurrent_copies_handled_once",
  "late_handler_counts",
];

/** The cases that a receiver fails, as what that costs. */
function costsOf({ results }: ConformanceReport) {
  const failed = results.filter(({ verdict }) => verdict === "failed");
  const idsIn = (...groups: string[]) =>
    failed.filter(({ group }) => groups.includes(group)).map(({ id }) => id);
  return {
    losesAnAlarm: idsIn("handling", "giving up", "transport"),
    handlesTwice: idsIn("once"),
    letsIn: idsIn("forgery", "headers"),
    manners: idsIn("manners"),
  };
}

/** Why a case failed. */
function reasonOf({ results }: ConformanceReport, id: string): string | undefined {
  return results.find((result) => result.id === id)?.reason;
}

it("octokit/webhooks loses alarms by 400 and 415, and handles copies again", async () => {
  const report = await judgeListener(octokitReceiver);
  expect(costsOf(report)).toEqual({
    losesAnAlarm: [
      "wrong_secret_sent_again",
      "unsigned_sent_again",
      "rewritten_body_sent_again",
      "lost_headers_sent_again",
      "unlisted_statuses",
      "content_types",
      "upper_case_signature",
      "byte_order_mark",
      "unreadable_body",
      "invalid_utf8",
    ],
    handlesTwice: HANDLES_COPIES_AGAIN,
    letsIn: ["other_bytes_same_text", "type_flip", "stale", "future", "repeated_headers"],
    manners: [],
  });
  expect(reasonOf(report, "wrong_secret_sent_again")).toBe(
    "another secret: expected a retryable status, got 400, after which the gateway gives it up for good",
  );
  expect(reasonOf(report, "content_types")).toContain("415, of which the gateway's contract says");
});

it("standardwebhooks in Express loses alarms by 400, and big ones by 413", async () => {
  const report = await judgeListener(standardWebhooksReceiver);
  expect(costsOf(report)).toEqual({
    losesAnAlarm: [
      "big_alarm",
      "wrong_secret_sent_again",
      "unsigned_sent_again",
      "drifted_clock_sent_again",
      "rewritten_body_sent_again",
      "lost_headers_sent_again",
      "unlisted_statuses",
      "content_types",
      "upper_case_signature",
      "byte_order_mark",
      "unreadable_body",
      "invalid_utf8",
    ],
    handlesTwice: HANDLES_COPIES_AGAIN,
    letsIn: [
      "other_bytes_same_text",
      "timestamp_text",
      "type_flip",
      "missing_type",
      "repeated_headers",
    ],
    manners: [],
  });
  expect(reasonOf(report, "big_alarm")).toContain("expected 2xx, got 413");
  expect(reasonOf(report, "drifted_clock_sent_again")).toContain("an hour old: expected a retry");
});
