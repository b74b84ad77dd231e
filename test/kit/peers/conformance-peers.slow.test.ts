import { expect, it } from "vitest";
import type { ConformanceReport } from "../../../kit/conformance/run-conformance.js";
import { runSuiteOnListener } from "../../support/testing/run-suite.js";
import { octokitReceiver, standardWebhooksReceiver } from "./peer-receivers.js";

/** The cases that a receiver without a memory of ids fails. */
const HANDLES_DUPLICATES = [
  "duplicate_handled_once",
  "retry_with_new_signature",
  "duplicate_by_id_alone",
  "duplicate_after_others",
  "concurrent_duplicates_handled_once",
  "retries_at_once_after_failure",
  "late_handler_counts",
  "hang_up",
  "refusal_forgets_nothing",
];

/** The cases that a receiver fails, by what they cost. */
function costsOf({ results }: ConformanceReport) {
  const failed = results.filter(({ result }) => result === "failed");
  const idsIn = (...groups: string[]) =>
    failed.filter(({ group }) => groups.includes(group)).map(({ id }) => id);
  return {
    losesAnAlarm: idsIn("acceptance", "retries", "transport"),
    handlesTwice: idsIn("idempotency"),
    letsIn: idsIn("forgery", "headers"),
    answers: idsIn("answers"),
  };
}

/** Why a case failed. */
function reasonOf({ results }: ConformanceReport, id: string): string | undefined {
  return results.find((result) => result.id === id)?.reason;
}

it("octokit/webhooks loses alarms by 400 and 415 and handles duplicates again", async () => {
  const report = await runSuiteOnListener(octokitReceiver);
  expect(costsOf(report)).toEqual({
    losesAnAlarm: [
      "wrong_secret_sent_again",
      "unsigned_sent_again",
      "rewritten_body_sent_again",
      "lost_headers_sent_again",
      "unlisted_statuses",
      "content_types",
      "form_content_types",
      "upper_case_signature",
      "byte_order_mark",
      "unreadable_body",
      "invalid_utf8",
      "unlimited_body",
    ],
    handlesTwice: HANDLES_DUPLICATES,
    letsIn: [
      "other_bytes_same_text",
      "type_flip",
      "stale",
      "future",
      "signed_malformed_headers",
      "repeated_headers",
    ],
    answers: [],
  });
  expect(reasonOf(report, "wrong_secret_sent_again")).toBe(
    "another secret: expected a retryable status, got 400, after which the gateway gives up for good",
  );
  expect(reasonOf(report, "content_types")).toContain(
    "415, which the gateway's contract does not mention",
  );
});

it("standardwebhooks in Express loses alarms by 400, and big ones by 413", async () => {
  const report = await runSuiteOnListener(standardWebhooksReceiver);
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
      "form_content_types",
      "upper_case_signature",
      "byte_order_mark",
      "unreadable_body",
      "invalid_utf8",
    ],
    // The deliveries that fail are of every kind, and big ones are among them.
    handlesTwice: expect.arrayContaining([
      ...HANDLES_DUPLICATES,
      "failure_sent_again",
      "late_failure_released",
    ]) as string[],
    letsIn: [
      "other_bytes_same_text",
      "timestamp_text",
      "type_flip",
      "missing_type",
      "signed_malformed_headers",
      "repeated_headers",
    ],
    answers: [],
  });
  expect(reasonOf(report, "big_alarm")).toContain("expected 2xx, got 413");
  expect(reasonOf(report, "drifted_clock_sent_again")).toContain("an hour old: expected a retry");
});
