import { randomUUID } from "node:crypto";
import http from "node:http";
import { expect, it } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { causesOf } from "../../cli/doctor/closing-report.js";
import type { ConformanceResult } from "../../kit/conformance/conformance-case.js";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import { runConformance } from "../../kit/conformance/run-conformance.js";
import { runOrSkip } from "../../kit/run-or-skip.js";
import {
  ConfigurationError,
  createWebhookReceiver,
  type Alarm,
  type OnlineDataEvent,
  type WebhookReceiver,
} from "../../src/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { createLedger } from "../support/ledger.js";
import { serving } from "../support/serving.js";
import {
  answering,
  failureOf,
  idsOf,
  ledgerReceiver,
  runSuite,
  type Answering,
} from "../support/testing/run-suite.js";

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
  const groups = new Set(cases.map(({ group }) => group));
  expect(report.byGroup.map(({ group }) => group)).toEqual([...groups]);
  const sum = report.byGroup.reduce((all, { failed }) => all + failed, 0);
  expect(sum).toBe(report.failed);
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

it.each<[string, object]>([
  ["the target", { target: "ftp://127.0.0.1" }],
  ["secret", { secret: "" }],
  ["types must be", { types: [] }],
  ["types must be", { types: ["new_alarm", "new_alarms"] }],
  ["handled must be a function", { handled: 3 }],
  ["now must be a function", { now: 0 }],
  ["maxBodyBytes must be", { maxBodyBytes: 0.5 }],
  ["seed is no option", { seed: 1 }],
])("receiverConformance refuses an invalid option: %s", (message, options) => {
  const make = () =>
    receiverConformance({ target: answering(200), secret: TEST_SECRET, ...options });
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});

const caseWith = (result: ConformanceResult["result"], reason?: string) => ({
  run: () => Promise.resolve({ result, reason, exchanges: [] }),
});

async function skippedBy(one: ReturnType<typeof caseWith>): Promise<readonly unknown[]> {
  const skipped: unknown[] = [];
  await runOrSkip(one)({ skip: (reason) => skipped.push(reason) });
  return skipped;
}

it("a conformance case that is not judged skips its test with the reason", async () => {
  expect(await skippedBy(caseWith("not_judged", "pass the option handled"))).toEqual([
    "pass the option handled",
  ]);
  expect(await skippedBy(caseWith("passed", "a note"))).toEqual([]);
});

it("a conformance case that fails fails its test", async () => {
  const failing = { run: () => Promise.reject(new Error("expected 2xx")) };
  await expect(runOrSkip(failing)({ skip: () => undefined })).rejects.toThrow("expected 2xx");
});

it("a runner without skipping gets a function without parameters, and the case passes", async () => {
  const run = runOrSkip(caseWith("not_judged"));
  expect(run).toHaveLength(0);
  await expect(run()).resolves.toBeUndefined();
});

it("for a receiver of events only the cases that are about alarms fall away", async () => {
  const ledger = createLedger();
  const { handled, whileFailing, whileSlow } = ledger;
  const target = await serving(http.createServer(nodeHandler(ledgerReceiver(ledger))));
  const probes = { handled, whileFailing, whileSlow };
  const report = await runSuite({ target, types: ["delete_my_data_event"], ...probes });
  expect(idsOf(report, "failed")).toEqual([]);
  expect(idsOf(report, "not_judged")).toEqual([
    "alarm",
    "alarm_types",
    "nested_text",
    "odd_payload",
    "type_flip",
  ]);
  const types = report.results.flatMap(({ exchanges }) =>
    exchanges.map(({ sent }) => new Map(sent.headers).get("X-Webhook-Type")),
  );
  expect(types).not.toContain("new_alarm");
});

/** A receiver whose handlers throw. */
const throwingReceiver = () =>
  ledgerReceiver({ record: throwing(new Error("FOREIGN KEY constraint failed")) });

it("the advice on a receiver whose handler throws is about the handler and its log", async () => {
  const cases = receiverConformance({ target: throwingReceiver(), secret: TEST_SECRET });
  const { results } = await runConformance(cases);
  const failed = results.filter(({ result }) => result === "failed");
  expect(failed.map(({ id }) => id)).toContain("alarm");
  for (const { code, fix } of failed) {
    expect(code).toBe("receiver_failed");
    expect(fix).toMatch(/^Look into the log of the receiver, which answers handler_failed\. Usual/);
  }
  expect(causesOf(results)).toHaveLength(1);
});

it("what the options of the suite lack is known before a case runs", async () => {
  const cases = receiverConformance({ target: throwingReceiver(), secret: TEST_SECRET });
  const unmet = cases.filter(({ unmet }) => unmet !== undefined);
  expect(unmet.map(({ id }) => id)).toEqual(
    expect.arrayContaining(["failure_sent_again", "late_handler_counts", "hang_up"]),
  );
  for (const one of unmet) {
    expect(await one.run()).toMatchObject({ result: "not_judged", need: one.unmet });
  }
});

it("a receiver whose tables have a primary key and a foreign key passes the conformance suite", async () => {
  const accountIds = [7, 8];
  const alarms = new Map<number, Alarm>();
  const ids: string[] = [];
  const strangers: number[] = [];
  const refer = ({ account_id }: Alarm | OnlineDataEvent): void => {
    if (accountIds.includes(account_id)) return;
    strangers.push(account_id);
    throw new Error("FOREIGN KEY constraint failed");
  };
  const target = createWebhookReceiver({
    secret: TEST_SECRET,
    logger: false,
    onAuthenticDelivery: ({ id }) => void ids.push(id),
    handlers: {
      new_alarm: (alarm) => {
        refer(alarm);
        if (alarms.has(alarm.id)) throw new Error("UNIQUE constraint failed: alarms.id");
        alarms.set(alarm.id, alarm);
      },
      delete_my_data_event: refer,
    },
  });
  expect(idsOf(await runSuite({ target, accountIds }), "failed")).toEqual([]);
  expect(alarms.size).toBeGreaterThan(100);
  expect(new Set(Array.from(alarms.values(), ({ account_id }) => account_id))).toEqual(
    new Set(accountIds),
  );
  expect(ids.filter((id) => !id.startsWith("7e57da7a-"))).toEqual([]);
  // A low id may be that of a real alarm or customer.
  expect(strangers.filter((id) => id < 2 ** 31)).toEqual([]);
  expect([...alarms.keys()].filter((id) => id > 0 && id < 2_000_000_000)).toEqual([]);
});
