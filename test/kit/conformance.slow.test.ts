import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import { TEST_SECRET } from "../support/deliveries.js";
import {
  answerTo,
  answering,
  failureOf,
  idsOf,
  runSuite,
  ledgerReceiver,
  type Answering,
} from "../support/testing/run-suite.js";
import { createLedger } from "../support/ledger.js";

describe("the cases of receiverConformance", () => {
  const cases = receiverConformance({ target: answering(200), secret: TEST_SECRET });

  it("each conformance case has an id and a title, and says why it matters and how to fix it", () => {
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
    expect(new Set(cases.map(({ title }) => title)).size).toBe(cases.length);
    for (const { id, why, fix } of cases) {
      expect(id).toMatch(/^[a-z0-9_]+$/);
      for (const sentence of [why, fix]) expect(sentence).toMatch(/^[A-Z0-9].*[.?`)]$/);
    }
  });

  it("conformance cases use new ids, so they can be run again", async () => {
    const ledger = createLedger();
    const { handled, whileFailing } = ledger;
    const target = ledgerReceiver(ledger);
    for (let run = 0; run < 2; run++) {
      expect(idsOf(await runSuite({ target, handled, whileFailing }), "failed")).toEqual([]);
    }
  });

  it("conformance cases sign for the receiver's clock", async () => {
    const now = () => 1_760_000_000_000;
    const target = ledgerReceiver(createLedger(), { now });
    expect(idsOf(await runSuite({ target, now }), "failed")).toEqual([]);
    expect(idsOf(await runSuite({ target }), "failed")).toEqual(["alarm", "event"]);
  });

  it("conformance cases leave out types that the receiver is not registered for", async () => {
    for (const types of [["new_alarm"], ["delete_my_data_event"]] as const) {
      const ledger = createLedger();
      const target = ledgerReceiver(ledger);
      const report = await runSuite({ target, types, handled: ledger.handled });
      expect(idsOf(report, "failed")).toEqual([]);
      expect(idsOf(report, "not_judged")).toContain("type_flip");
      expect(idsOf(report, "passed")).toContain("exact_bytes");
    }
  });
});

describe("without a probe", () => {
  it("without a probe nothing passes that cannot be seen", async () => {
    const silent: Answering = async (request) => {
      const { status } = await answerTo(request, ours);
      return new Response("", { status });
    };
    const ours = ledgerReceiver(createLedger());
    const report = await runSuite({ target: silent });
    expect(idsOf(report, "failed")).toEqual([]);
    expect(idsOf(report, "not_judged")).toEqual([
      "duplicate_handled_once",
      "retry_with_new_signature",
      "duplicate_by_id_alone",
      "duplicate_after_others",
      "concurrent_duplicates_handled_once",
      "concurrent_deliveries",
      "same_account",
      "acknowledged_after_handling",
      "failure_sent_again",
      "ten_failures_sent_again",
      "retries_at_once_after_failure",
      "late_handler_counts",
      "late_failure_released",
      "hang_up",
      "forged_duplicate",
      "refusal_forgets_nothing",
      "forged_after_failure",
      "split_characters",
      "broken_upload",
      "keep_alive",
      "expect_continue",
      "interleaved_uploads",
      "unlimited_body",
      "stalled_upload",
      "paused_upload",
      "invalid_header_bytes",
      "http_1_0",
      "forged_http_1_0",
      "late_effects",
    ]);
    for (const { result, reason } of report.results) {
      if (result === "not_judged")
        expect(reason).toMatch(/option handled|option whileFailing|option whileSlow|a URL/);
    }
  });

  it("without a probe the outcomes that a receiver names are trusted, and the report says so", async () => {
    const { results } = await runSuite({}, ["duplicate_handled_once", "unreadable_body"]);
    expect(results.map(({ result, reason }) => [result, reason])).toEqual([
      [
        "passed",
        "half of the JSON was acknowledged; to see whether it was also handled, pass the option handled",
      ],
      [
        "passed",
        "judged by the outcome in the receiver's answer; to see it, pass the option handled",
      ],
    ]);
  });

  it("a receiver whose outcomes say that a duplicate was handled again is caught", async () => {
    const target = answering(200, '{"outcome":"handled"}');
    const failure = await failureOf("concurrent_duplicates_handled_once", { target });
    expect(failure.message).toBe("by its answers the receiver handled the delivery 9 times");
  });
});

describe("receivers with odd answers", () => {
  it("a receiver that answers the same to everything passes no refusal, whatever it answers", async () => {
    const statuses = fc.integer({ min: 200, max: 599 });
    await fc.assert(
      fc.asyncProperty(statuses, async (status) => {
        const target = answering(status);
        const { results } = await runSuite({ target, maxBodyBytes: 1_000 });
        const refusals = results.filter(
          // An answer without a signature in it is no refusal, and no handler can be made to fail.
          ({ group, id }) =>
            ["forgery", "headers"].includes(group) &&
            !["leaked_signature", "forged_after_failure"].includes(id),
        );
        const isAcknowledged = status < 300;
        for (const { result } of refusals) {
          expect(result).toBe(isAcknowledged ? "failed" : "not_judged");
        }
        const resultOf = (id: string) => results.find((result) => result.id === id)?.result;
        expect(resultOf("alarm")).toBe(isAcknowledged ? "passed" : "failed");
        const isFinal = [400, 401, 403, 404, 422].includes(status);
        // After a 2xx the receiver may have handled the request or dropped it. 429 comes from a limiter.
        const otherwise = isAcknowledged || status === 429 ? "not_judged" : "passed";
        expect(resultOf("wrong_secret_sent_again")).toBe(isFinal ? "failed" : otherwise);
      }),
      { seed: 4, numRuns: 30, examples: [[204], [401], [404], [302], [503]] },
    );
  });

  it("a receiver that cannot be reached passes no case", async () => {
    const report = await runSuite({ target: "http://127.0.0.1:1/" });
    expect(idsOf(report, "passed")).toEqual([]);
    const alarm = report.results.find(({ id }) => id === "alarm");
    expect(alarm?.reason).toContain("an alarm: expected 2xx, got no answer (");
  });

  it("a receiver that takes too long fails, and only the first cases wait for it", async () => {
    let requests = 0;
    const target: Answering = () => {
      requests += 1;
      return new Promise(() => undefined);
    };
    const report = await runSuite({ target, timeoutMs: 20 });
    expect(idsOf(report, "failed")).toEqual(["alarm", "event"]);
    expect(idsOf(report, "passed")).toEqual([]);
    expect(requests).toBe(2);
    const [alarm, , other] = report.results;
    expect(alarm?.reason).toBe("an alarm: expected 2xx, got no answer (no answer within 20 ms)");
    expect(other?.reason).toContain("got no answer (no answer within 20 ms): fix that first");
  });

  it("a receiver that answers only genuine deliveries fails", async () => {
    const ours = ledgerReceiver(createLedger());
    const target: Answering = async (request) => {
      const { status } = await answerTo(request, ours);
      return status === 200 ? new Response() : new Promise<never>(() => undefined);
    };
    const failure = await failureOf("wrong_secret_sent_again", { target, timeoutMs: 200 });
    expect(failure.message).toContain(
      "expected an answer, got no answer (no answer within 200 ms)",
    );
  });

  it("a redirect is not followed", async () => {
    const failure = await failureOf("alarm", { target: answering(307) });
    expect(failure.message).toContain("got 307, which the gateway's contract does not mention");
  });
});
