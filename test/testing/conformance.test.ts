import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { receiverConformance } from "../../src/testing/conformance/receiver-conformance.js";
import { TEST_SECRET } from "../support/deliveries.js";
import {
  answering,
  failureOf,
  idsOf,
  judgeTarget,
  ledgerReceiver,
  type Answering,
} from "../support/testing/judged-receivers.js";
import { createLedger } from "../support/ledger.js";

describe("the cases of receiverConformance", () => {
  const cases = receiverConformance({ target: answering(200), secret: TEST_SECRET });

  it("have an id and a title each, and say why and how to mend", () => {
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
    expect(new Set(cases.map(({ title }) => title)).size).toBe(cases.length);
    for (const { id, why, mend } of cases) {
      expect(id).toMatch(/^[a-z0-9_]+$/);
      for (const sentence of [why, mend]) expect(sentence).toMatch(/^[A-Z0-9].*[.?`)]$/);
    }
  });

  it("send ids of their own, so that they can be run again", async () => {
    const ledger = createLedger();
    const { handled, whileFailing } = ledger;
    const target = ledgerReceiver(ledger);
    for (let run = 0; run < 2; run++) {
      expect(idsOf(await judgeTarget({ target, handled, whileFailing }), "failed")).toEqual([]);
    }
  });

  it("sign for the receiver's clock", async () => {
    const now = () => 1_760_000_000_000;
    const target = ledgerReceiver(createLedger(), { now });
    expect(idsOf(await judgeTarget({ target, now }), "failed")).toEqual([]);
    expect(idsOf(await judgeTarget({ target }), "failed")).toEqual(["alarm", "event"]);
  });

  it("leave out what the receiver is not registered for", async () => {
    for (const types of [["new_alarm"], ["delete_my_data_event"]] as const) {
      const ledger = createLedger();
      const target = ledgerReceiver(ledger);
      const report = await judgeTarget({ target, types, handled: ledger.handled });
      expect(idsOf(report, "failed")).toEqual([]);
      expect(idsOf(report, "not_judged")).toContain("type_flip");
      expect(idsOf(report, "passed")).toContain("exact_bytes");
    }
  });
});

describe("without a probe", () => {
  it("nothing that stays unseen is passed", async () => {
    const silent: Answering = async (request) => {
      const answer = await ours.receive({
        method: request.method,
        headers: request.headers,
        body: new Uint8Array(await request.arrayBuffer()),
      });
      return new Response("", { status: answer.status });
    };
    const ours = ledgerReceiver(createLedger());
    const report = await judgeTarget({ target: silent });
    expect(idsOf(report, "failed")).toEqual([]);
    expect(idsOf(report, "not_judged")).toEqual([
      "duplicate_handled_once",
      "retry_signed_anew",
      "copy_by_id_alone",
      "concurrent_copies_handled_once",
      "acknowledged_after_handling",
      "failure_sent_again",
      "late_handler_counts",
      "split_characters",
      "broken_upload",
      "keep_alive",
      "expect_continue",
      "broken_heads",
    ]);
    for (const { verdict, reason } of report.results) {
      if (verdict === "not_judged")
        expect(reason).toMatch(/give handled|give whileFailing|give whileSlow|a URL/);
    }
  });

  it("a receiver that names its outcomes is taken at its word, and the report says so", async () => {
    const { results } = await judgeTarget({}, ["duplicate_handled_once", "unreadable_body"]);
    expect(results.map(({ verdict, reason }) => [verdict, reason])).toEqual([
      [
        "passed",
        "half of the JSON was acknowledged; whether it was kept is seen with handled alone",
      ],
      ["passed", "by the outcomes that the receiver names; with handled it is seen"],
    ]);
  });

  it("one whose outcomes say that a copy was handled again is caught", async () => {
    const target = answering(200, '{"outcome":"handled"}');
    const failure = await failureOf("concurrent_copies_handled_once", { target });
    expect(failure.message).toBe("by its answers it was handled 9 times");
  });
});

describe("a receiver that", () => {
  it("answers the same to everything passes for no refusal, whatever it answers", async () => {
    const statuses = fc.integer({ min: 200, max: 599 });
    await fc.assert(
      fc.asyncProperty(statuses, async (status) => {
        const target = answering(status);
        const { results } = await judgeTarget({ target, maxBodyBytes: 1_000 });
        const refusals = results.filter(({ group }) => group === "forgery" || group === "headers");
        const isAcknowledged = status < 300;
        for (const { verdict } of refusals) {
          expect(verdict).toBe(isAcknowledged ? "failed" : "not_judged");
        }
        const verdictOf = (id: string) => results.find((result) => result.id === id)?.verdict;
        expect(verdictOf("alarm")).toBe(isAcknowledged ? "passed" : "failed");
        const isFinal = [400, 401, 403, 404, 422].includes(status);
        // A 2xx may be of one that keeps what it cannot verify, or drops it.
        // 429 is what a limiter says, and not the receiver.
        const otherwise = isAcknowledged || status === 429 ? "not_judged" : "passed";
        expect(verdictOf("wrong_secret_sent_again")).toBe(isFinal ? "failed" : otherwise);
      }),
      { seed: 4, numRuns: 30, examples: [[204], [401], [404], [302], [503]] },
    );
  });

  it("cannot be reached fails, and nothing is passed for it", async () => {
    const report = await judgeTarget({ target: "http://127.0.0.1:1/" });
    expect(idsOf(report, "passed")).toEqual([]);
    const alarm = report.results.find(({ id }) => id === "alarm");
    expect(alarm?.reason).toContain("an alarm: expected 2xx, got no answer (");
  });

  it("takes too long fails, and is not waited for in every case", async () => {
    let requests = 0;
    const target: Answering = () => {
      requests += 1;
      return new Promise(() => undefined);
    };
    const report = await judgeTarget({ target, timeoutMs: 20 });
    expect(idsOf(report, "failed")).toEqual(["alarm", "event"]);
    expect(idsOf(report, "passed")).toEqual([]);
    expect(requests).toBe(2);
    const [alarm, , other] = report.results;
    expect(alarm?.reason).toBe("an alarm: expected 2xx, got no answer (no answer within 20 ms)");
    expect(other?.reason).toContain("got no answer (no answer within 20 ms): mend that first");
  });

  it("answers genuine deliveries alone fails", async () => {
    const ours = ledgerReceiver(createLedger());
    const target: Answering = async (request) => {
      const body = new Uint8Array(await request.arrayBuffer());
      const answer = await ours.receive({ method: "POST", headers: request.headers, body });
      return answer.status === 200 ? new Response() : new Promise<never>(() => undefined);
    };
    const failure = await failureOf("wrong_secret_sent_again", { target, timeoutMs: 200 });
    expect(failure.message).toContain(
      "expected an answer, got no answer (no answer within 200 ms)",
    );
  });

  it("redirects is not followed", async () => {
    const failure = await failureOf("alarm", { target: answering(307) });
    expect(failure.message).toContain("got 307, of which the gateway's contract says nothing");
  });
});
