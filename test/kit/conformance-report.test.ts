import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ConfigurationError, type WebhookReceiver } from "../../src/index.js";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import { runConformance } from "../../kit/conformance/run-conformance.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { answering, failureOf, type Answering } from "../support/testing/run-suite.js";

describe("a failure", () => {
  it("a failure shows the request, the answer, why it matters and how to fix it", async () => {
    const failure = await failureOf("wrong_secret_sent_again", { target: answering(401, "no") });
    expect(failure).toMatchObject({
      name: "ConformanceFailure",
      caseId: "wrong_secret_sent_again",
    });
    expect(failure.message).toBe(
      "another secret: expected a retryable status, got 401, after which the gateway gives up for good",
    );
    expect(failure.why).toContain("all alarms of that hour are lost");
    expect(failure.fix).toContain("409");
    const [exchange] = failure.exchanges;
    expect(exchange?.sent.method).toBe("POST");
    expect(exchange?.sent.bytes).toBeGreaterThan(100);
    expect(exchange?.sent.headers.map(([name]) => name)).toContain("X-Webhook-Signature");
    expect(exchange?.received).toMatchObject({ status: 401, body: "no" });
  });

  it("a failure does not show the secret and cuts a long answer", async () => {
    const secret = `whsec_${randomUUID()}`;
    const target: Answering = () =>
      new Response(`${secret}${"x".repeat(9_000)}`, { status: 500, headers: { "x-key": secret } });
    const { exchanges } = await failureOf("alarm", { target, secret });
    expect(JSON.stringify(exchanges)).not.toContain(secret);
    expect(JSON.stringify(exchanges).length).toBeLessThan(2_500);
  });

  it("a failure names a probe that does not work", async () => {
    const broken = () => Promise.reject(new Error("no database"));
    const failure = await failureOf("alarm", { handled: broken });
    expect(failure.message).toBe("the option handled failed: no database");
    const odd = await failureOf("alarm", { handled: () => undefined as unknown as number });
    expect(odd.message).toBe("the option handled must return a whole number");
  });

  it("a receiver that acknowledges a delivery and never handles it fails", async () => {
    const failure = await failureOf("alarm", { target: answering(200), handled: () => 0 });
    expect(failure.message).toBe(
      "an alarm: answered 200, which acknowledges the delivery, but handled never in 2000 ms: a queue that takes longer needs a higher limit in the option handledWithinMs",
    );
  });
});

describe("runConformance", () => {
  it("runConformance counts by result, level and group, and reports each case when it ends", async () => {
    const seen: string[] = [];
    const cases = receiverConformance({ target: answering(401), secret: TEST_SECRET });
    const onResult = ({ id }: { id: string }) => seen.push(id);
    const report = await runConformance(cases, { onResult });
    expect(seen).toEqual(cases.map(({ id }) => id));
    expect(report.results.map(({ id }) => id)).toEqual(seen);
    expect(report.passed + report.failed + report.notJudged).toBe(cases.length);
    const should = report.results.filter(
      ({ level, result }) => level === "should" && result === "failed",
    );
    expect(report.failedMust).toBe(report.failed - should.length);
    expect(report.byGroup.map(({ group }) => group)).toEqual([
      "acceptance",
      "retries",
      "idempotency",
      "forgery",
      "headers",
      "transport",
      "answers",
    ]);
    const sum = report.byGroup.reduce((all, { failed }) => all + failed, 0);
    expect(sum).toBe(report.failed);
  });

  it("runConformance ends before the next case when its signal aborts", async () => {
    const abort = new AbortController();
    const cases = receiverConformance({ target: answering(200), secret: TEST_SECRET });
    const onResult = () => abort.abort();
    const { results } = await runConformance(cases, { onResult, signal: abort.signal });
    expect(results).toHaveLength(1);
  });

  it("runConformance rejects with an error that is not a ConformanceFailure", async () => {
    const target = {
      receive: () => Promise.reject(new TypeError("a bug")),
    } as unknown as WebhookReceiver;
    const [first] = receiverConformance({ target, secret: TEST_SECRET });
    await expect(first?.run()).rejects.toThrow("got no answer (the request failed: a bug)");
    const broken = { ...first, run: () => Promise.reject(new TypeError("a bug")) };
    await expect(runConformance([broken as NonNullable<typeof first>])).rejects.toThrow("a bug");
  });
});

it.each<[string, object]>([
  ["the target", { target: "ftp://127.0.0.1" }],
  ["secret", { secret: "" }],
  ["types must be", { types: [] }],
  ["types must be", { types: ["new_alarms"] }],
  ["types must be", { types: ["new_alarm", "new_alarms"] }],
  ["types must be", { types: "new_alarm" }],
  ["handled must be a function", { handled: 3 }],
  ["whileFailing must be a function", { whileFailing: true }],
  ["now must be a function", { now: 0 }],
  ["timeoutMs must be", { timeoutMs: 0 }],
  ["maxBodyBytes must be", { maxBodyBytes: 0.5 }],
  ["seed is no option", { seed: 1 }],
])("receiverConformance refuses an invalid option: %s", (message, options) => {
  const make = () =>
    receiverConformance({ target: answering(200), secret: TEST_SECRET, ...options });
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});
