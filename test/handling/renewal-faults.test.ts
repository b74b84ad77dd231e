import { beforeEach, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import { alarmReceiver, heldRun } from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { deferred, never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { rejects, throws } from "../support/faults.js";
import { failingStore } from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

/** A short lease, and time for a store that is slow. */
const SLOW_STORE = { leaseMs: 3_000, dependencyTimeoutMs: 60_000 };

it.each<[string, () => Promise<boolean>]>([
  ["throws", throws],
  ["rejects", rejects],
  ["hangs", never<boolean>],
])("a renewal is tried again and keeps the lease if the store %s once", async (_how, fault) => {
  const inner = memoryStore();
  let renewals = 0;
  const renew: DeliveryStore["renew"] = (...call) =>
    (renewals += 1) === 1 ? fault() : inner.renew(...call);
  const store = { ...inner, renew };
  const { receiver, repeated, run, runs, lines } = await heldRun({
    store,
    handlerTimeoutMs: 3_600_000,
  });
  for (let seconds = 0; seconds < 120; seconds += 5) {
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await receiver.receive(repeated)).toMatchObject({ outcome: "in_flight" });
  }
  expect(run.context.signal.aborted).toBe(false);
  expect(linesWith(lines, "renewal of the lease failed")).toHaveLength(1);
  expect(await run.succeed()).toMatchObject({ status: 200, outcome: "handled" });
  expect(runs).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

it("a failed renewal is tried again each second, which saves a lease that is about to end", async () => {
  const { store, comeBack } = failingStore("renew");
  const { run } = await heldRun({ store, handlerTimeoutMs: 3_600_000 });
  await vi.advanceTimersByTimeAsync(28_500);
  comeBack();
  await vi.advanceTimersByTimeAsync(10_000);
  const other = alarmReceiver(() => expect.fail("run twice"), { store });
  expect(await other.receive(await delivery())).toMatchObject({ outcome: "in_flight" });
  expect(await run.succeed()).toMatchObject({ outcome: "handled" });
});

it("after renewals fail for a whole lease a redelivery takes over, and the loser's signal aborts", async () => {
  const { store, comeBack } = failingStore("renew");
  const held = await heldRun({ store, handlerTimeoutMs: 3_600_000 });
  const { receiver, repeated, run: loser } = held;
  await vi.advanceTimersByTimeAsync(29_999);
  expect(await receiver.receive(repeated)).toMatchObject({ outcome: "in_flight" });
  await vi.advanceTimersByTimeAsync(1);
  const winner = await held.start(repeated, alarmReceiver(held.handler, { store }));
  expect(winner.context.takeover).toBe(true);
  comeBack();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(loser.context.signal.aborted).toBe(true);
  expect(winner.context.signal.aborted).toBe(false);
});

it("a renewal that is answered after the handler has ended aborts nothing", async () => {
  const renewal = deferred<boolean>();
  const store = { ...memoryStore(), renew: () => renewal.promise };
  const { run } = await heldRun({ store });
  const { signal } = run.context;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await run.succeed()).toMatchObject({ outcome: "handled" });
  renewal.resolve(false);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(signal.aborted).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

it("a lease is not renewed while it is released after a failure", async () => {
  const released = deferred();
  const renew = vi.fn(() => true);
  const store: DeliveryStore = { ...memoryStore(), renew, release: () => released.promise };
  const { run } = await heldRun({ store, ...SLOW_STORE });
  run.reject(new Error("database is away"));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(renew).not.toHaveBeenCalled();
  released.resolve();
  expect(await run.answer).toMatchObject({ outcome: "handler_failed" });
  expect(vi.getTimerCount()).toBe(0);
});

it("a renewal that the store refuses after the handler has succeeded aborts nothing", async () => {
  const completed = deferred();
  const renew = vi.fn(() => false);
  const store: DeliveryStore = { ...memoryStore(), renew, complete: () => completed.promise };
  const { run } = await heldRun({ store, ...SLOW_STORE });
  const { signal } = run.context;
  run.resolve();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(renew).toHaveBeenCalledTimes(1);
  expect(signal.aborted).toBe(false);
  completed.resolve();
  expect(await run.answer).toMatchObject({ outcome: "handled" });
});

it("a lease counts from the time at which the store was asked, however late its answer comes", async () => {
  const renewed = deferred<boolean>();
  const store: DeliveryStore = { ...memoryStore(), renew: () => renewed.promise };
  const { receiver, repeated, run } = await heldRun({ store, leaseMs: 30_000 });
  await vi.advanceTimersByTimeAsync(14_000);
  renewed.resolve(true);
  await vi.advanceTimersByTimeAsync(0);
  // Asked 10 s after the claim, and answered 4 s later.
  const { headers } = await receiver.receive(repeated);
  expect(headers).toMatchObject({ "retry-after": "26" });
  await run.succeed();
});
