import { describe, expect, it } from "vitest";
import {
  failureOf,
  idsOf,
  judgeTarget,
  ledgerReceiver,
  type Answering,
} from "../support/testing/judged-receivers.js";
import { createLedger } from "../support/ledger.js";

/** One of ours, whose refusals are answered by something else. */
function refusing(refuse: (request: Request) => number): Answering {
  const receiver = ledgerReceiver(createLedger());
  return async (request) => {
    const body = new Uint8Array(await request.arrayBuffer());
    const { method, headers } = request;
    const answer = await receiver.receive({ method, headers, body });
    if (answer.status === 200) return new Response(answer.body);
    return new Response("", { status: refuse(request) });
  };
}

describe("behind a limiter that answers 429", () => {
  it("no refusal is passed that was not seen", async () => {
    const ids = [
      "wrong_secret_sent_again",
      "unknown_webhook_type",
      "tampered",
      "big_forgery",
      "malformed_headers",
      "other_methods",
    ];
    const target = refusing(() => 429);
    const report = await judgeTarget({ target }, ids);
    expect(idsOf(report, "failed")).toEqual([]);
    // What the handler for unrecognized deliveries takes is not answered by the limiter.
    expect(idsOf(report, "passed")).toEqual(["unknown_webhook_type"]);
    const tampered = report.results.find(({ id }) => id === "tampered");
    expect(tampered?.reason).toBe(
      "another account_id: answered 429, as a rate limiter answers anything: lift its limit for this run",
    );
  });

  it("nor is a genuine delivery passed as sent again that the receiver never saw", async () => {
    const ours = refusing(() => 503);
    const target: Answering = (request) =>
      request.headers.get("x-webhook-type") === "account_closed"
        ? new Response("", { status: 429 })
        : ours(request);
    const report = await judgeTarget({ target }, ["unknown_webhook_type"]);
    expect(idsOf(report, "not_judged")).toEqual(["unknown_webhook_type"]);
  });

  it("now and then, what it hides is seen by asking again", async () => {
    let refusals = 0;
    const target = refusing(() => (refusals++ % 2 === 0 ? 429 : 401));
    const failure = await failureOf("wrong_secret_sent_again", { target });
    expect(failure.message).toContain("another secret: expected a retryable status, got 401");
    expect(idsOf(await judgeTarget({ target }, ["tampered"]), "passed")).toEqual(["tampered"]);
  });

  it("what was handled all the same fails", async () => {
    const ledger = createLedger();
    const target = refusing(({ headers }) => {
      void ledger.record({ id: headers.get("x-webhook-id") ?? "" });
      return 429;
    });
    const failure = await failureOf("tampered", { target, handled: ledger.handled });
    expect(failure.message).toMatch(/answered 429, .*, but handled 5 times$/);
  });
});
