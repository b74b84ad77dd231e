import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  DiscardDelivery,
  RetryLater,
  type WebhookReceiver,
  type WebhookResponse,
} from "../../src/index.js";
import { alarmReceiver, heldHandler, type HeldRun } from "../support/alarm-receiver.js";
import { createCollector } from "../support/collector.js";
import { delivery } from "../support/deliveries.js";

const outcomeOf = async (response: WebhookResponse | Promise<WebhookResponse>) =>
  (await response).outcome;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("late handlers", () => {
  async function timedOut(run: (receiver: WebhookReceiver, held: HeldRun) => Promise<void>) {
    const { handler, runs, start } = heldHandler();
    const collector = createCollector();
    const receiver = alarmReceiver(handler, {
      handlerTimeoutMs: 2_000,
      handlerMaxMs: 86_400_000,
      ...collector.options,
    });
    const repeated = await delivery();
    const held = await start(receiver, repeated);
    const { signal } = held.context;
    await vi.advanceTimersByTimeAsync(1_999);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await held.answer).toMatchObject({ status: 503, outcome: "handler_timeout" });
    expect((await held.answer).headers["retry-after"]).toBe("30");
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ message: "the handler took longer than 2000 ms" });
    expect(await outcomeOf(receiver.receive(repeated))).toBe("in_flight");
    await run(receiver, held);
    return { receiver, repeated, runs, start, lines: collector.lines, reports: collector.reports };
  }

  it("a late handler that succeeds is 503, then 409 while it runs, then 200 duplicate, in one run", async () => {
    const { receiver, repeated, runs, lines } = await timedOut(async (_receiver, held) => {
      held.resolve();
      await vi.advanceTimersByTimeAsync(0);
    });
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
    expect(runs).toHaveLength(1);
    expect(lines.at(-1)).toMatchObject({
      level: "warn",
      message: expect.stringContaining("handled, but after handlerTimeoutMs") as string,
      details: { id: repeated.headers["x-webhook-id"], type: "new_alarm" },
    });
  });

  it("a late handler that fails releases its claim, and the redelivery runs", async () => {
    const error = new Error("late failure");
    const { receiver, repeated, runs, start, lines } = await timedOut(async (_receiver, held) => {
      held.reject(error);
      await vi.advanceTimersByTimeAsync(0);
    });
    expect(lines.at(-1)).toMatchObject({
      level: "error",
      message: expect.stringContaining("handler_failed, but after handlerTimeoutMs") as string,
      details: { err: error },
    });
    const run = await start(receiver, repeated);
    expect(run.context.takeover).toBe(false);
    run.resolve();
    expect(await outcomeOf(run.answer)).toBe("handled");
    expect(runs).toHaveLength(2);
  });

  it("a late handler that throws RetryLater releases its claim, and the redelivery runs", async () => {
    const { receiver, repeated, start } = await timedOut(async (_receiver, held) => {
      held.reject(new RetryLater());
      await vi.advanceTimersByTimeAsync(0);
    });
    const next = await start(receiver, repeated);
    next.resolve();
    expect(await outcomeOf(next.answer)).toBe("handled");
  });

  it("a late handler that throws DiscardDelivery makes the redelivery a 200 duplicate", async () => {
    const { receiver, repeated, runs } = await timedOut(async (_receiver, held) => {
      held.reject(new DiscardDelivery({ reason: "too late to matter" }));
      await vi.advanceTimersByTimeAsync(0);
    });
    expect(await outcomeOf(receiver.receive(repeated))).toBe("duplicate");
    expect(runs).toHaveLength(1);
  });

  it.each<[string, Error | undefined]>([
    ["handled", undefined],
    ["handler_failed", new Error("late failure")],
    ["retry_later", new RetryLater()],
    ["discarded", new DiscardDelivery({ reason: "closed" })],
  ])(
    "a late handler that is %s gives a second report with late: true and the answered status",
    async (outcome, error) => {
      const { repeated, reports } = await timedOut(async (_receiver, held) => {
        await vi.advanceTimersByTimeAsync(3_000);
        if (error === undefined) held.resolve();
        else held.reject(error);
        await vi.advanceTimersByTimeAsync(0);
      });
      const ofRun = reports.filter((report) => report.outcome !== "in_flight");
      expect(ofRun).toMatchObject([
        { outcome: "handler_timeout", status: 503, durationMs: 2_000 },
        {
          outcome,
          status: 503,
          late: true,
          durationMs: 5_000,
          id: repeated.headers["x-webhook-id"],
          type: "new_alarm",
          secretIndex: 0,
        },
      ]);
      expect(ofRun[0]).not.toHaveProperty("late");
    },
  );

  it("a handler that is late by hours keeps its lease, and no redelivery runs it again", async () => {
    const { receiver, repeated, runs } = await timedOut(async (receiverOfIt, held) => {
      const again = await delivery();
      for (let minute = 0; minute < 180; minute++) {
        await vi.advanceTimersByTimeAsync(60_000);
        expect(await outcomeOf(receiverOfIt.receive(again))).toBe("in_flight");
      }
      held.resolve();
      await vi.advanceTimersByTimeAsync(0);
    });
    expect(await outcomeOf(receiver.receive(repeated))).toBe("duplicate");
    expect(runs).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a handler that settles in the last millisecond is in time", async () => {
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler, { handlerTimeoutMs: 2_000 });
    const repeated = await delivery();
    const held = await start(receiver, repeated);
    await vi.advanceTimersByTimeAsync(1_999);
    held.resolve();
    expect(await held.answer).toMatchObject({ status: 200, outcome: "handled" });
    expect(held.context.signal.aborted).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});
