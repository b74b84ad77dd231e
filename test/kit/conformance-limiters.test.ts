import { describe, expect, it } from "vitest";
import {
  answerTo,
  failureOf,
  idsOf,
  runSuite,
  ledgerReceiver,
  type Answering,
} from "../support/testing/run-suite.js";
import { createLedger } from "../support/ledger.js";

/** A receiver of this library behind a limiter that answers in place of its refusals. */
function refusing(refuse: (request: Request) => number): Answering {
  const receiver = ledgerReceiver(createLedger());
  return async (request) => {
    const answer = await answerTo(request, receiver);
    if (answer.status === 200) return new Response(answer.body);
    return new Response("", { status: refuse(request) });
  };
}

describe("a rate limiter that answers 429", () => {
  const ids = [
    "wrong_secret_sent_again",
    "unknown_webhook_type",
    "tampered",
    "big_forgery",
    "malformed_headers",
    "other_methods",
  ];

  it("what a limiter hides that answers everything is not judged", async () => {
    const ours = ledgerReceiver(createLedger());
    let requests = 0;
    const target: Answering = async (request) => {
      requests += 1;
      // Only the first genuine delivery gets past it.
      if (requests > 1) return new Response("", { status: 429, headers: { "retry-after": "0" } });
      const { body, status } = await answerTo(request, ours);
      return new Response(body, { status });
    };
    const report = await runSuite({ target }, ["tampered", ...ids]);
    expect(idsOf(report, "failed")).toEqual([]);
    const tampered = report.results.find(({ id }) => id === "tampered");
    expect([tampered?.result, tampered?.reason]).toEqual([
      "not_judged",
      "another account_id: a rate limiter answered 429: lift its limit for this run",
    ]);
  });

  it("a receiver that refuses with 429 by choice and acknowledges each genuine delivery passes", async () => {
    const report = await runSuite({ target: refusing(() => 429) }, ids);
    expect([idsOf(report, "failed"), idsOf(report, "not_judged")]).toEqual([[], []]);
    // The same request again and again, each time after a genuine delivery, and once only in a case.
    const malformed = report.results.find(({ id }) => id === "malformed_headers");
    expect(malformed?.exchanges).toHaveLength(24 + 6);
  });

  it("what a limiter hides now and then is seen by sending again", async () => {
    let refusals = 0;
    const target = refusing(() => (refusals++ % 2 === 0 ? 429 : 401));
    const failure = await failureOf("wrong_secret_sent_again", { target });
    expect(failure.message).toContain("another secret: expected a retryable status, got 401");
    expect(idsOf(await runSuite({ target }, ["tampered"]), "passed")).toEqual(["tampered"]);
  });

  it("a forgery that was handled behind a 429 fails", async () => {
    const ledger = createLedger();
    const target = refusing(({ headers }) => {
      void ledger.record({ id: headers.get("x-webhook-id") ?? "" });
      return 429;
    });
    const failure = await failureOf("tampered", { target, handled: ledger.handled });
    expect(failure.message).toMatch(/answered 429, .*, but handled 4 times$/);
  });
});
