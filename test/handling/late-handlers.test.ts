import { beforeEach, expect, it, vi } from "vitest";
import { DiscardDelivery, RetryLater } from "../../src/index.js";
import { heldRun } from "../support/alarm-receiver.js";

beforeEach(() => vi.useFakeTimers());

/** A run that was answered with handler_timeout. `end` ends it. */
async function timedOut() {
  const scene = await heldRun({ handlerTimeoutMs: 2_000, handlerMaxMs: 86_400_000 });
  const { receiver, repeated, run } = scene;
  const { signal } = run.context;
  await vi.advanceTimersByTimeAsync(1_999);
  expect(signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await run.answer).toMatchObject({ status: 503, outcome: "handler_timeout" });
  expect((await run.answer).headers["retry-after"]).toBe("30");
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toMatchObject({ message: "the handler took longer than 2000 ms" });
  expect((await receiver.receive(repeated)).outcome).toBe("in_flight");
  const end = async (error?: Error) => {
    if (error === undefined) run.resolve();
    else run.reject(error);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { ...scene, end };
}

it("a late handler that succeeds is 503, then 409 while it runs, then 200 duplicate, in one run", async () => {
  const { receiver, repeated, runs, lines, end } = await timedOut();
  await end();
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
  const { repeated, runs, start, lines, end } = await timedOut();
  await end(error);
  expect(lines.at(-1)).toMatchObject({
    level: "error",
    message: expect.stringContaining("handler_failed, but after handlerTimeoutMs") as string,
    details: { err: error },
  });
  const run = await start(repeated);
  expect(run.context.takeover).toBe(false);
  expect((await run.succeed()).outcome).toBe("handled");
  expect(runs).toHaveLength(2);
});

it("a late handler that throws RetryLater releases its claim, and the redelivery runs", async () => {
  const { repeated, start, end } = await timedOut();
  await end(new RetryLater());
  const next = await start(repeated);
  expect((await next.succeed()).outcome).toBe("handled");
});

it("a late handler that throws DiscardDelivery makes the redelivery a 200 duplicate", async () => {
  const { receiver, repeated, runs, end } = await timedOut();
  await end(new DiscardDelivery({ reason: "too late to matter" }));
  expect((await receiver.receive(repeated)).outcome).toBe("duplicate");
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
    const { repeated, reports, end } = await timedOut();
    await vi.advanceTimersByTimeAsync(3_000);
    await end(error);
    const ofRun = reports.filter((report) => report.outcome !== "in_flight");
    const id = repeated.headers["x-webhook-id"];
    const facts = { id, type: "new_alarm", secretIndex: 0 };
    expect(ofRun).toMatchObject([
      { outcome: "handler_timeout", status: 503, durationMs: 2_000 },
      { outcome, status: 503, late: true, durationMs: 5_000, ...facts },
    ]);
    expect(ofRun[0]).not.toHaveProperty("late");
  },
);

it("a handler that is late by hours keeps its lease, and no redelivery runs it again", async () => {
  const { receiver, repeated, runs, end } = await timedOut();
  for (let minute = 0; minute < 180; minute++) {
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await receiver.receive(repeated)).outcome).toBe("in_flight");
  }
  await end();
  expect((await receiver.receive(repeated)).outcome).toBe("duplicate");
  expect(runs).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

it("a handler that settles in the last millisecond is in time", async () => {
  const { run } = await heldRun({ handlerTimeoutMs: 2_000 });
  await vi.advanceTimersByTimeAsync(1_999);
  expect(await run.succeed()).toMatchObject({ status: 200, outcome: "handled" });
  expect(run.context.signal.aborted).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});
