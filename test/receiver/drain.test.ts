import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import { alarmReceiver, heldHandler } from "../support/alarm-receiver.js";
import { createCollector } from "../support/collector.js";
import { deferred, never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { spiedStore } from "../support/spied-store.js";

/** Records when a promise has resolved. */
function watch(promise: Promise<unknown>) {
  const state = { resolved: false };
  const done = promise.then(() => {
    state.resolved = true;
  });
  return { state, done };
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("drain", () => {
  it("drain resolves if nothing is running, any number of times", async () => {
    const receiver = alarmReceiver(() => undefined);
    await expect(receiver.drain()).resolves.toEqual({ idle: true, running: 0 });
    await expect(Promise.all([receiver.drain(), receiver.drain()])).resolves.toHaveLength(2);
  });

  it("drain resolves after all deliveries have settled", async () => {
    const receiver = alarmReceiver(() => undefined);
    await receiver.receive(await delivery());
    await expect(receiver.drain()).resolves.toEqual({ idle: true, running: 0 });
  });

  it("drain makes new deliveries 503 with Retry-After before anything is read from them", async () => {
    let runs = 0;
    const spy = spiedStore();
    const { options, lines, reports } = createCollector();
    const receiver = alarmReceiver(() => (runs += 1), { store: spy.store, ...options });
    await receiver.drain();
    for (const request of [await delivery(), { headers: {}, body: "forged" }]) {
      expect(await receiver.receive(request)).toMatchObject({
        status: 503,
        outcome: "draining",
        headers: { "retry-after": "10" },
        body: '{"error":{"code":"DRAINING","message":"The receiver is shutting down."}}',
      });
    }
    expect(runs).toBe(0);
    expect(spy.calls).toEqual([]);
    expect(lines).toEqual([]);
    expect(reports.map(({ outcome, id, bytes }) => ({ outcome, id, bytes }))).toEqual([
      { outcome: "draining", id: undefined, bytes: 0 },
      { outcome: "draining", id: undefined, bytes: 0 },
    ]);
  });

  it("drain makes probes 503, so that a load balancer sends its traffic elsewhere", async () => {
    const receiver = alarmReceiver(() => undefined);
    const probe = (method: string) => receiver.receive({ method, headers: {}, body: "" });
    expect(await probe("GET")).toMatchObject({ status: 200, outcome: "reachable" });
    await receiver.drain();
    for (const method of ["GET", "HEAD"]) {
      expect(await probe(method)).toMatchObject({ status: 503, outcome: "draining" });
    }
    expect(await probe("PUT")).toMatchObject({ status: 405, outcome: "method_not_allowed" });
  });

  it("drain refuses deliveries at once and resolves when the running handler has ended", async () => {
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler);
    const repeated = await delivery();
    const run = await start(receiver, repeated);
    const drained = watch(receiver.drain());
    const again = watch(receiver.drain());
    expect(await receiver.receive(repeated)).toMatchObject({ outcome: "draining" });
    await vi.advanceTimersByTimeAsync(10_000);
    expect([drained.state.resolved, again.state.resolved]).toEqual([false, false]);
    run.resolve();
    await Promise.all([drained.done, again.done]);
    expect(await run.answer).toMatchObject({ status: 200, outcome: "handled" });
  });

  it("drain waits for each of several handlers", async () => {
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler);
    const one = await delivery({ id: "one" });
    const two = await delivery({ id: "two" });
    const first = await start(receiver, one);
    const second = await start(receiver, two);
    const { state, done } = watch(receiver.drain());
    first.resolve();
    await vi.advanceTimersByTimeAsync(1);
    expect(state.resolved).toBe(false);
    second.reject(new Error("failed"));
    await done;
  });

  it("drain waits for a request that arrived before it, at any step", async () => {
    const claimed = deferred();
    const asked = deferred();
    const inner = memoryStore();
    const receiver = alarmReceiver(() => undefined, {
      store: {
        ...inner,
        async claim(...call) {
          asked.resolve();
          await claimed.promise;
          return inner.claim(...call);
        },
      },
    });
    const first = receiver.receive(await delivery());
    await asked.promise;
    const { state, done } = watch(receiver.drain());
    await vi.advanceTimersByTimeAsync(1_000);
    expect(state.resolved).toBe(false);
    claimed.resolve();
    await done;
    expect(await first).toMatchObject({ outcome: "handled" });
  });

  it.each(["succeeds", "fails"])("drain waits for a late handler that %s", async (how) => {
    const spy = spiedStore();
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler, {
      store: spy.store,
      handlerTimeoutMs: 1_000,
      handlerMaxMs: 7_200_000,
    });
    const repeated = await delivery();
    const run = await start(receiver, repeated);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await run.answer).toMatchObject({ outcome: "handler_timeout" });
    const { state, done } = watch(receiver.drain());
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(state.resolved).toBe(false);
    if (how === "succeeds") run.resolve();
    else run.reject(new Error("late failure"));
    await done;
    expect(spy.count("complete")).toBe(how === "succeeds" ? 1 : 0);
    expect(spy.count("release")).toBe(how === "succeeds" ? 0 : 1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("drain tries pending completions once more", async () => {
    const inner = memoryStore();
    let isDown = true;
    const spy = spiedStore(
      {
        complete: (...call) =>
          isDown ? Promise.reject(new Error("down")) : inner.complete(...call),
      },
      inner,
    );
    const receiver = alarmReceiver(() => undefined, { store: spy.store });
    for (const id of ["one", "two"]) await receiver.receive(await delivery({ id }));
    isDown = false;
    await receiver.drain();
    for (const id of ["one", "two"]) {
      expect(inner.claim(id, "next process", { leaseMs: 1_000, retentionMs: 1_000 })).toEqual({
        state: "completed",
      });
    }
    // The timer of the retry finds nothing left to do.
    await vi.advanceTimersByTimeAsync(600_000);
    expect(spy.count("complete")).toBe(4);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<[string, () => Promise<void>]>([
    [
      "throws",
      () => {
        throw new Error("down");
      },
    ],
    ["rejects", () => Promise.reject(new Error("down"))],
    ["hangs", never<void>],
  ])("drain neither rejects nor hangs if the store %s for good", async (_how, complete) => {
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver(handler, { store: { ...memoryStore(), complete } });
    const repeated = await delivery();
    const run = await start(receiver, repeated);
    run.resolve();
    const { state, done } = watch(receiver.drain());
    await vi.advanceTimersByTimeAsync(10_000);
    expect(state.resolved).toBe(true);
    await done;
  });

  it("drain completes each delivery that the store accepts, even if the store refuses an earlier one", async () => {
    const inner = memoryStore();
    let isDown = true;
    const complete: DeliveryStore["complete"] = (key, ...rest) =>
      isDown || key === "poison"
        ? Promise.reject(new Error("refused"))
        : inner.complete(key, ...rest);
    const receiver = alarmReceiver(() => undefined, { store: { ...inner, complete } });
    for (const id of ["poison", "one", "two"]) await receiver.receive(await delivery({ id }));
    isDown = false;
    await receiver.drain();
    for (const id of ["one", "two"]) {
      expect(inner.claim(id, "next process", { leaseMs: 1_000, retentionMs: 1_000 })).toEqual({
        state: "completed",
      });
    }
  });

  it("drain waits at most dependencyTimeoutMs for a store that does not answer", async () => {
    const allThere = deferred();
    let completions = 0;
    const complete = () => {
      completions += 1;
      if (completions === 3) allThere.resolve();
      return never<undefined>();
    };
    const store = { ...memoryStore(), complete };
    const receiver = alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 100 });
    const answers = ["one", "two", "three"].map(async (id) =>
      receiver.receive(await delivery({ id })),
    );
    await allThere.promise;
    await vi.advanceTimersByTimeAsync(100);
    await Promise.all(answers);
    const { state, done } = watch(receiver.drain());
    await vi.advanceTimersByTimeAsync(99);
    expect(state.resolved).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await done;
  });
});
