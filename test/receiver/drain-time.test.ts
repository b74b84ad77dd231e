import { beforeEach, expect, it, vi } from "vitest";
import { memoryStore } from "../../src/index.js";
import { alarmReceiver, heldReceiver, heldRun } from "../support/alarm-receiver.js";
import { never, watched } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { claimedElsewhere, receiveUntil } from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

it("drain({ timeoutMs }) resolves after its time with the number of running deliveries", async () => {
  const { receiver, start } = heldReceiver();
  const one = await start(await delivery({ id: "one" }));
  const two = await start(await delivery({ id: "two" }));
  const drained = receiver.drain({ timeoutMs: 5_000 });
  await vi.advanceTimersByTimeAsync(4_999);
  one.resolve();
  await vi.advanceTimersByTimeAsync(1);
  expect(await drained).toEqual({ idle: false, running: 1 });
  const again = receiver.drain({ timeoutMs: 60_000 });
  two.resolve();
  expect(await again).toEqual({ idle: true, running: 0 });
  expect(vi.getTimerCount()).toBe(0);
});

it("drain({ timeoutMs }) stays within its time if the store does not answer completions", async () => {
  const store = { ...memoryStore(), complete: () => never<undefined>() };
  const receiver = alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 1_000 });
  const { answer } = await receiveUntil(store, "complete", receiver);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await answer).toMatchObject({ outcome: "handled" });
  const { state } = watched(receiver.drain({ timeoutMs: 300 }));
  await vi.advanceTimersByTimeAsync(299);
  expect(state.isResolved).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(state.isResolved).toBe(true);
});

it("drain({ timeoutMs }) completes handled deliveries even if one handler hangs until the time ends", async () => {
  const inner = memoryStore();
  let isDown = true;
  const complete: typeof inner.complete = async (...call) => {
    if (isDown) throw new Error("down");
    await new Promise((resolve) => setTimeout(resolve, 50));
    void inner.complete(...call);
  };
  const { receiver, start } = heldReceiver({ store: { ...inner, complete } });
  for (const id of ["one", "two", "three"]) {
    await (await start(await delivery({ id }))).succeed();
  }
  await start(await delivery({ id: "hangs" }));
  isDown = false;
  const drained = receiver.drain({ timeoutMs: 500 });
  await vi.advanceTimersByTimeAsync(500);
  expect(await drained).toEqual({ idle: false, running: 1 });
  const states = await claimedElsewhere(inner, ["one", "two", "three"]);
  expect(states).toEqual(["completed", "completed", "completed"]);
});

it.each<[string, unknown]>([
  ["no number", { timeoutMs: "soon" }],
  ["not a number", { timeoutMs: Number.NaN }],
  ["Infinity", { timeoutMs: Number.POSITIVE_INFINITY }],
  ["longer than a timer", { timeoutMs: 2 ** 31 }],
  ["null", null],
])("drain waits for all deliveries if timeoutMs is %s", async (_what, options) => {
  const { receiver, run } = await heldRun();
  const { state } = watched(receiver.drain(options as object));
  await vi.advanceTimersByTimeAsync(19_000);
  expect(state.isResolved).toBe(false);
  run.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(state.isResolved).toBe(true);
});

it.each([0, -1])("drain does not wait if timeoutMs is %s", async (timeoutMs) => {
  const { receiver, run } = await heldRun();
  const drained = receiver.drain({ timeoutMs });
  await vi.advanceTimersByTimeAsync(1);
  expect(await drained).toEqual({ idle: false, running: 1 });
  await run.succeed();
});
