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

describe("what a process knows of a lease", () => {
  it("is extended by a renewal: for copies, and until the lease is taken for lost", async () => {
    const inner = memoryStore();
    let isDown = false;
    const renew: DeliveryStore["renew"] = (...call) => (isDown ? rejects() : inner.renew(...call));
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler, {
      store: { ...inner, renew },
      handlerTimeoutMs: 3_600_000,
    });
    const copy = await delivery();
    const run = await start(receiver, copy);
    const { signal } = run.context;
    await vi.advanceTimersByTimeAsync(11_000);
    expect((await receiver.receive(copy)).headers["retry-after"]).toBe("29");
    isDown = true;
    await vi.advanceTimersByTimeAsync(28_999);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(signal.aborted).toBe(true);
    run.resolve();
    await run.answer;
  });

  it("is not extended by a renewal that the store refused", async () => {
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler, { store: { ...memoryStore(), renew: () => false } });
    const copy = await delivery();
    const run = await start(receiver, copy);
    await vi.advanceTimersByTimeAsync(11_000);
    expect((await receiver.receive(copy)).headers["retry-after"]).toBe("19");
    run.resolve();
    await run.answer;
  });

  it("ends with the handler, although a renewal is still on its way", async () => {
    const renewal = deferred<boolean>();
    const { handler, start } = heldHandler();
    const store: DeliveryStore = { ...memoryStore(), renew: () => renewal.promise };
    const receiver = alarmReceiver(handler, { store });
    const copy = await delivery();
    const run = await start(receiver, copy);
    await vi.advanceTimersByTimeAsync(10_000);
    run.reject(new Error("failed"));
    expect(await run.answer).toMatchObject({ outcome: "handler_failed" });
    renewal.resolve(true);
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
    const again = await start(receiver, copy);
    again.resolve();
    expect(await again.answer).toMatchObject({ outcome: "handled" });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("what a process knows of a completion", () => {
  it("is forgotten once the store has it: after the retention the store decides", async () => {
    let skewMs = 0;
    const inner = memoryStore({ now: () => performance.now() + skewMs });
    const complete: DeliveryStore["complete"] = async (...call) => inner.complete(...call);
    const handler = vi.fn();
    const receiver = alarmReceiver(handler, { store: { ...inner, complete } });
    const copy = await delivery();
    expect(await receiver.receive(copy)).toMatchObject({ outcome: "handled" });
    expect(await receiver.receive(copy)).toMatchObject({ outcome: "duplicate" });
    skewMs = 8 * 86_400_000;
    expect(await receiver.receive(copy)).toMatchObject({ outcome: "handled" });
    expect(handler).toHaveBeenCalledTimes(2);
  });
});

describe("a claim that a slow store grants beside a run that goes on here", () => {
  it("is given back before the copy is answered in flight", async () => {
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
    const copy = await delivery();
    let isAnswered = false;
    const slowly = receiver.receive(copy).finally(() => (isAnswered = true));
    await claimed;
    const run = await start(receiver, copy);
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
