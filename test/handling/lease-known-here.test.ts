import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type ClaimResult, type DeliveryStore } from "../../src/index.js";
import { alarmReceiver, heldReceiver, heldRun } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { failingStore, firstCall } from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

describe("a lease known in this process", () => {
  it("a renewal extends the lease that this process knows, for redeliveries and for the abort", async () => {
    const { store, goDown, comeBack } = failingStore("renew");
    comeBack();
    const { receiver, repeated, run } = await heldRun({ store, handlerTimeoutMs: 3_600_000 });
    const { signal } = run.context;
    await vi.advanceTimersByTimeAsync(11_000);
    expect((await receiver.receive(repeated)).headers["retry-after"]).toBe("29");
    goDown();
    await vi.advanceTimersByTimeAsync(28_999);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(signal.aborted).toBe(true);
    await run.succeed();
  });

  it("a refused renewal does not extend the lease that this process knows", async () => {
    const store = { ...memoryStore(), renew: () => false };
    const { receiver, repeated, run } = await heldRun({ store });
    await vi.advanceTimersByTimeAsync(11_000);
    expect((await receiver.receive(repeated)).headers["retry-after"]).toBe("19");
    await run.succeed();
  });

  it("the lease ends with the handler, even if a renewal is still pending", async () => {
    const renewal = deferred<boolean>();
    const store: DeliveryStore = { ...memoryStore(), renew: () => renewal.promise };
    const { repeated, run, start } = await heldRun({ store });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await run.fail(new Error("failed"))).toMatchObject({ outcome: "handler_failed" });
    renewal.resolve(true);
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
    const again = await start(repeated);
    expect(await again.succeed()).toMatchObject({ outcome: "handled" });
    expect(vi.getTimerCount()).toBe(0);
  });
});

it("a stored completion is forgotten here, so that the store decides after the retention", async () => {
  let skewMs = 0;
  const inner = memoryStore({ now: () => performance.now() + skewMs });
  const complete: DeliveryStore["complete"] = async (...call) => inner.complete(...call);
  const handler = vi.fn();
  const receiver = alarmReceiver(handler, { store: { ...inner, complete } });
  const repeated = await delivery();
  expect(await receiver.receive(repeated)).toMatchObject({ outcome: "handled" });
  expect(await receiver.receive(repeated)).toMatchObject({ outcome: "duplicate" });
  skewMs = 8 * 86_400_000;
  expect(await receiver.receive(repeated)).toMatchObject({ outcome: "handled" });
  expect(handler).toHaveBeenCalledTimes(2);
});

it("a slow claim that is granted during a run is released before the redelivery is answered 409", async () => {
  const inner = memoryStore();
  const slow = deferred<ClaimResult>();
  const releasing = deferred();
  let claims = 0;
  const store: DeliveryStore = {
    ...inner,
    claim: (...call) => ((claims += 1) === 1 ? slow.promise : inner.claim(...call)),
    release: () => releasing.promise,
  };
  const claimed = firstCall(store, "claim");
  const released = firstCall(store, "release");
  const { receiver, runs, start } = heldReceiver({ store });
  const repeated = await delivery();
  let isAnswered = false;
  const slowly = receiver.receive(repeated).finally(() => (isAnswered = true));
  await claimed;
  const run = await start(repeated);
  slow.resolve({ state: "claimed", takeover: true });
  await released;
  await vi.advanceTimersByTimeAsync(0);
  expect(isAnswered).toBe(false);
  releasing.resolve();
  expect(await slowly).toMatchObject({ status: 409, outcome: "in_flight" });
  await run.succeed();
  expect(runs).toHaveLength(1);
});
