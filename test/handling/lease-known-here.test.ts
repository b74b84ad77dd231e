import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type ClaimResult, type DeliveryStore } from "../../src/index.js";
import { alarmReceiver, heldHandler } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { rejects } from "../support/faults.js";
import { firstCall } from "../support/spied-store.js";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("a lease known in this process", () => {
  it("a renewal extends the lease that this process knows, for redeliveries and for the abort", async () => {
    const inner = memoryStore();
    let isDown = false;
    const renew: DeliveryStore["renew"] = (...call) => (isDown ? rejects() : inner.renew(...call));
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler, {
      store: { ...inner, renew },
      handlerTimeoutMs: 3_600_000,
    });
    const repeated = await delivery();
    const run = await start(receiver, repeated);
    const { signal } = run.context;
    await vi.advanceTimersByTimeAsync(11_000);
    expect((await receiver.receive(repeated)).headers["retry-after"]).toBe("29");
    isDown = true;
    await vi.advanceTimersByTimeAsync(28_999);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(signal.aborted).toBe(true);
    run.resolve();
    await run.answer;
  });

  it("a refused renewal does not extend the lease that this process knows", async () => {
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler, { store: { ...memoryStore(), renew: () => false } });
    const repeated = await delivery();
    const run = await start(receiver, repeated);
    await vi.advanceTimersByTimeAsync(11_000);
    expect((await receiver.receive(repeated)).headers["retry-after"]).toBe("19");
    run.resolve();
    await run.answer;
  });

  it("the lease ends with the handler, even if a renewal is still pending", async () => {
    const renewal = deferred<boolean>();
    const { handler, start } = heldHandler();
    const store: DeliveryStore = { ...memoryStore(), renew: () => renewal.promise };
    const receiver = alarmReceiver(handler, { store });
    const repeated = await delivery();
    const run = await start(receiver, repeated);
    await vi.advanceTimersByTimeAsync(10_000);
    run.reject(new Error("failed"));
    expect(await run.answer).toMatchObject({ outcome: "handler_failed" });
    renewal.resolve(true);
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
    const again = await start(receiver, repeated);
    again.resolve();
    expect(await again.answer).toMatchObject({ outcome: "handled" });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a completion known in this process", () => {
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
});

describe("claims during a run", () => {
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
    const { handler, runs, start } = heldHandler();
    const receiver = alarmReceiver(handler, { store });
    const repeated = await delivery();
    let isAnswered = false;
    const slowly = receiver.receive(repeated).finally(() => (isAnswered = true));
    await claimed;
    const run = await start(receiver, repeated);
    slow.resolve({ state: "claimed", takeover: true });
    await released;
    await vi.advanceTimersByTimeAsync(0);
    expect(isAnswered).toBe(false);
    releasing.resolve();
    expect(await slowly).toMatchObject({ status: 409, outcome: "in_flight" });
    run.resolve();
    await run.answer;
    expect(runs).toHaveLength(1);
  });
});
