import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore } from "../../src/index.js";
import { alarmReceiver, heldHandler } from "../support/alarm-receiver.js";
import { never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { firstCall } from "../support/spied-store.js";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("drain({ timeoutMs })", () => {
  it("drain({ timeoutMs }) resolves after its time with the number of running deliveries", async () => {
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler);
    const runs = [
      await start(receiver, await delivery({ id: "one" })),
      await start(receiver, await delivery({ id: "two" })),
    ];
    const drained = receiver.drain({ timeoutMs: 5_000 });
    await vi.advanceTimersByTimeAsync(4_999);
    runs[0]?.resolve();
    await vi.advanceTimersByTimeAsync(1);
    expect(await drained).toEqual({ idle: false, running: 1 });
    const again = receiver.drain({ timeoutMs: 60_000 });
    runs[1]?.resolve();
    expect(await again).toEqual({ idle: true, running: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("drain({ timeoutMs }) stays within its time if the store does not answer completions", async () => {
    const store = { ...memoryStore(), complete: () => never<undefined>() };
    const receiver = alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 1_000 });
    const completing = firstCall(store, "complete");
    const answer = receiver.receive(await delivery());
    await completing;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await answer).toMatchObject({ outcome: "handled" });
    let isDrained = false;
    void receiver.drain({ timeoutMs: 300 }).then(() => (isDrained = true));
    await vi.advanceTimersByTimeAsync(299);
    expect(isDrained).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isDrained).toBe(true);
  });

  it("drain({ timeoutMs }) completes handled deliveries even if one handler hangs until the time ends", async () => {
    const inner = memoryStore();
    let isDown = true;
    const complete: typeof inner.complete = async (...call) => {
      if (isDown) throw new Error("down");
      await new Promise((resolve) => setTimeout(resolve, 50));
      void inner.complete(...call);
    };
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler, { store: { ...inner, complete } });
    for (const id of ["one", "two", "three"]) {
      const run = await start(receiver, await delivery({ id }));
      run.resolve();
      await run.answer;
    }
    await start(receiver, await delivery({ id: "hangs" }));
    isDown = false;
    const drained = receiver.drain({ timeoutMs: 500 });
    await vi.advanceTimersByTimeAsync(500);
    expect(await drained).toEqual({ idle: false, running: 1 });
    for (const id of ["one", "two", "three"]) {
      expect(inner.claim(id, "next process", { leaseMs: 1_000, retentionMs: 1_000 })).toEqual({
        state: "completed",
      });
    }
  });

  it.each<[string, unknown]>([
    ["no number", { timeoutMs: "soon" }],
    ["not a number", { timeoutMs: Number.NaN }],
    ["Infinity", { timeoutMs: Number.POSITIVE_INFINITY }],
    ["longer than a timer", { timeoutMs: 2 ** 31 }],
    ["null", null],
  ])("drain waits for all deliveries if timeoutMs is %s", async (_what, options) => {
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler);
    const run = await start(receiver, await delivery());
    let isDrained = false;
    void receiver.drain(options as object).then(() => (isDrained = true));
    await vi.advanceTimersByTimeAsync(19_000);
    expect(isDrained).toBe(false);
    run.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(isDrained).toBe(true);
  });

  it.each([0, -1])("drain does not wait if timeoutMs is %s", async (timeoutMs) => {
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler);
    const run = await start(receiver, await delivery());
    const drained = receiver.drain({ timeoutMs });
    await vi.advanceTimersByTimeAsync(1);
    expect(await drained).toEqual({ idle: false, running: 1 });
    run.resolve();
    await run.answer;
  });
});
