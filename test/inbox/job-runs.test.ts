import { describe, expect, it } from "vitest";
import { inbox, type InboxJob } from "../../src/inbox/index.js";
import {
  createWebhookReceiver,
  DiscardDelivery,
  RetryLater,
  type WebhookHandlers,
  type OnlineDataEvent,
  type WebhookTelemetry,
  type TelemetryWork,
} from "../../src/index.js";
import { sampleAlarm, sampleOnlineDataEvent } from "../../kit/index.js";
import { calledWorker } from "../support/inbox/called-worker.js";
import { keepingQueue } from "../support/inbox/receiver-and-worker.js";
import { delivery, NOW_MS, TEST_SECRET } from "../support/deliveries.js";
import { rejects, throws } from "../support/faults.js";
import { recoverDelivery } from "../../src/management/recover-delivery.js";

const job = (type: string, body: unknown): InboxJob => ({
  version: 1,
  id: "d-1",
  type,
  timestamp: 1_760_000_000,
  encoding: "utf-8",
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const alarmJob = job("new_alarm", { alarm: sampleAlarm({ account_id: 42 }) });

/** A worker and its log lines. */
function watched(handlers: WebhookHandlers) {
  const lines: [string, string, unknown][] = [];
  const logger = {
    warn: (line: string, details?: unknown) => lines.push(["warn", line, details]),
    error: (line: string, details?: unknown) => lines.push(["error", line, details]),
  };
  return { work: calledWorker({ handlers, logger }), lines };
}

describe("the run of a job", () => {
  it("a worker's handlers get the same records as a receiver's", async () => {
    const event = sampleOnlineDataEvent("DATA_REAPPEARED", { site_id: 7 });
    const seen: number[] = [];
    const { work, lines } = watched({
      new_alarm: ({ account_id }) => seen.push(account_id),
      delete_my_data_event: { DATA_REAPPEARED: ({ site_id }) => seen.push(site_id) },
    });
    const legacy = { alarm: { ...sampleAlarm(), account_id: "43" } };
    for (const data of [
      alarmJob,
      job("new_alarm", legacy),
      job("delete_my_data_event", { event }),
    ]) {
      expect(await work(data)).toMatchObject({
        outcome: "handled",
        settlement: { result: "done" },
      });
    }
    expect([seen, lines]).toEqual([[42, 43, 7], []]);
  });

  it("the unrecognized handler of a worker gets the body and its bytes", async () => {
    const seen: unknown[] = [];
    const { work } = watched({
      unrecognized: ({ type, body }, { rawBody }) => seen.push([type, body, rawBody.length]),
    });
    await work(job("added_since", '{"later":1}'));
    await work(job("new_alarm", "{"));
    expect(seen).toEqual([
      ["added_since", { later: 1 }, 11],
      ["new_alarm", undefined, 1],
    ]);
  });

  it("a recovered delivery is so in its job, the worker's context and telemetry", async () => {
    const { jobs, driver } = keepingQueue();
    const works: TelemetryWork[] = [];
    const telemetry: WebhookTelemetry = {
      begin: () => undefined,
      run: (_state, work, call) => (works.push(work), call()),
      end: () => undefined,
    };
    const receiver = createWebhookReceiver({
      secret: TEST_SECRET,
      logger: false,
      telemetry,
      now: () => NOW_MS,
      handlers: inbox({ telemetry, driver }),
    });
    const seen: unknown[] = [];
    const work = calledWorker({
      handlers: { new_alarm: (_, { recovered }) => void seen.push(recovered) },
      onJob: ({ recovered }) => seen.push(recovered),
      telemetry,
      logger: false,
    });
    await recoverDelivery(receiver, { ...alarmJob, id: "lost" });
    await receiver.receive(await delivery());
    expect(jobs.map((one) => "recovered" in one && one.recovered)).toEqual([true, false]);
    for (const data of [...jobs, { ...jobs[1], recovered: "yes" }]) {
      expect(await work(JSON.parse(JSON.stringify(data)))).toMatchObject({ outcome: "handled" });
    }
    expect(seen).toEqual([true, true, undefined, undefined, undefined, undefined]);
    const kinds = works.map((one) => [one.kind, "recovered" in one && one.recovered]);
    expect(kinds).toEqual([
      ["delivery", true],
      ["send", true],
      ["delivery", false],
      ["send", false],
      ["job", true],
      ["job", false],
      ["job", false],
    ]);
  });

  it("a worker's handler gets a signal and the takeover of the claim", async () => {
    const seen: unknown[] = [];
    const { work } = watched({
      new_alarm: (_, { signal, takeover }) => seen.push(signal, takeover),
    });
    const { takeover } = await work(alarmJob, { takeover: true });
    await work(alarmJob);
    expect(seen).toEqual([expect.any(AbortSignal), true, expect.any(AbortSignal), false]);
    expect(takeover).toBe(true);
  });

  it("a worker fails an unrecognized delivery without a handler", async () => {
    const { work, lines } = watched({ new_alarm: () => undefined });
    const result = await work(job("new_alarm", { alarm: { id: "x", text: "secret" } }));
    expect(result.settlement).toMatchObject({ result: "retry" });
    expect(lines).toEqual([
      ["error", expect.stringContaining("unrecognized: "), expect.objectContaining({ id: "d-1" })],
    ]);
    expect(JSON.stringify(lines)).not.toContain("secret");
  });

  it("a worker completes deliveries without a handler, and warns once a type", async () => {
    const { work, lines } = watched({ new_alarm: () => undefined });
    const event: OnlineDataEvent = sampleOnlineDataEvent("DATA_DELETED");
    for (let n = 0; n < 2; n++) {
      const { outcome, settlement } = await work(job("delete_my_data_event", { event }));
      expect([outcome, settlement]).toEqual(["unhandled", { result: "done" }]);
    }
    expect(lines).toHaveLength(1);
  });

  it("a worker that takes some event types discards the others, which is no lost webhook type", async () => {
    const { work } = watched({ delete_my_data_event: { DATA_REAPPEARED: () => undefined } });
    const event: OnlineDataEvent = sampleOnlineDataEvent("DATA_DELETED");
    const { outcome, settlement } = await work(job("delete_my_data_event", { event }));
    expect([outcome, settlement]).toEqual(["discarded", { result: "done" }]);
  });

  it.each([
    ["data of another program", { some: "thing" }],
    ["a body of another type", { ...alarmJob, type: "delete_my_data_event" }],
  ])("a worker fails %s as malformed", async (_, data) => {
    const { work, lines } = watched({ new_alarm: () => undefined });
    const result = await work(data);
    expect(result).toMatchObject({ outcome: "handler_failed", error: { code: "unreadable_job" } });
    expect(lines.map(([level]) => level)).toEqual(["error"]);
  });

  it("a worker resolves to how the handler ended, whatever it throws", async () => {
    const outcomes: unknown[] = [];
    const errors: unknown[] = [
      new DiscardDelivery({ reason: "x" }),
      new RetryLater(),
      new Error("x"),
      "text",
      undefined,
      Object.defineProperty(new Error("unreadable"), "message", { get: throws }),
    ];
    const { work, lines } = watched({
      new_alarm: () => {
        const error = errors[outcomes.length];
        return outcomes.length < errors.length ? Promise.reject(error) : undefined;
      },
    });
    for (let n = 0; n <= errors.length; n++) outcomes.push((await work(alarmJob)).outcome);
    const failed = Array(4).fill("handler_failed") as string[];
    expect(outcomes).toEqual(["discarded", "retry_later", ...failed, "handled"]);
    expect(lines.map(([level]) => level).join()).toBe("warn,warn,error,error,error,error");
  });

  it.each([
    [undefined, 10_000],
    [Number.NaN, 10_000],
    [Number.POSITIVE_INFINITY, 10_000],
    [-5, 1_000],
    [30_000, 30_000],
    [1e12, 86_400_000],
  ])("a worker reads a RetryLater of %s ms as %s", async (afterMs, expected) => {
    const { work } = watched({ new_alarm: () => Promise.reject(new RetryLater({ afterMs })) });
    expect(await work(alarmJob)).toMatchObject({ settlement: { afterMs: expected } });
  });

  it.each<[string, () => unknown]>([
    ["throws", throws],
    ["rejects", rejects],
  ])("a worker goes on if onJob %s", async (_, onJob) => {
    const work = calledWorker({ handlers: { new_alarm: () => undefined }, onJob, logger: false });
    const run = await work(alarmJob);
    expect(run).toMatchObject({ outcome: "handled", attempt: 1, lastAttempt: false });
    expect(run.settlement).toEqual({ result: "done" });
    expect(run).not.toHaveProperty("takeover");
  });
});
