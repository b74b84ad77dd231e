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
  it("a refusal that a limiter hides is not judged", async () => {
    const ids = [
      "wrong_secret_sent_again",
      "unknown_webhook_type",
      "tampered",
      "big_forgery",
      "malformed_headers",
      "other_methods",
    ];
    const target = refusing(() => 429);
    const report = await runSuite({ target }, ids);
    expect(idsOf(report, "failed")).toEqual([]);
    // The limiter does not answer what the unrecognized handler accepts.
    expect(idsOf(report, "passed")).toEqual(["unknown_webhook_type"]);
    const tampered = report.results.find(({ id }) => id === "tampered");
    expect(tampered?.reason).toBe(
      "another account_id: a rate limiter answered 429: lift its limit for this run",
    );
  });

  it("a genuine delivery that only the limiter answered is not judged", async () => {
    const ours = refusing(() => 503);
    const target: Answering = (request) =>
      request.headers.get("x-webhook-type") === "account_closed"
        ? new Response("", { status: 429 })
        : ours(request);
    const report = await runSuite({ target }, ["unknown_webhook_type"]);
    expect(idsOf(report, "not_judged")).toEqual(["unknown_webhook_type"]);
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
    expect(failure.message).toMatch(/answered 429, .*, but handled 5 times$/);
  });
});
