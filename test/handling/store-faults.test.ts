import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type ClaimResult, type DeliveryStore } from "../../src/index.js";
import { alarmReceiver, heldRun, observedAlarmReceiver } from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { deferred, never, watched } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { rejects, throws } from "../support/faults.js";
import { failingStore, firstCall, receiveUntil, spiedStore } from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

describe("failed claims", () => {
  it.each<[string, () => unknown]>([
    ["throws", throws],
    ["rejects", rejects],
    ["returns nothing", () => undefined],
    ["returns null", () => null],
    ["returns a string", () => "claimed"],
    ["returns true", () => true],
    ["returns an empty object", () => ({})],
    ["returns an unknown state", () => ({ state: "CLAIMED", takeover: false })],
    ["resolves to nothing", () => Promise.resolve(undefined)],
    ["resolves to an unknown state", () => Promise.resolve({ state: "ok" })],
  ])("a claim is 503 and runs no handler if the store %s", async (_how, claim) => {
    let runs = 0;
    const store = { ...memoryStore(), claim: claim as DeliveryStore["claim"] };
    const { receiver, reports } = observedAlarmReceiver(() => (runs += 1), { store });
    const response = await receiver.receive(await delivery());
    expect(response).toMatchObject({ status: 503, outcome: "store_unavailable" });
    expect(runs).toBe(0);
    expect(reports).toHaveLength(1);
    expect(reports[0]).toHaveProperty("error", expect.any(Error));
  });

  it("a claim that hangs is 503 after dependencyTimeoutMs", async () => {
    let runs = 0;
    const store = { ...memoryStore(), claim: () => never<ClaimResult>() };
    const { receiver, reports } = observedAlarmReceiver(() => (runs += 1), { store });
    const { answer } = await receiveUntil(store, "claim", receiver);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(reports).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await answer).toMatchObject({ status: 503, outcome: "store_unavailable" });
    expect(reports[0]).toMatchObject({
      error: { name: "DeadlineError", message: "store.claim took longer than 5000 ms" },
    });
    expect(runs).toBe(0);
  });

  it("a delivery whose claim failed is handled by a redelivery after the store has recovered", async () => {
    let runs = 0;
    const { store, comeBack } = failingStore("claim");
    const receiver = alarmReceiver(() => (runs += 1), { store });
    const repeated = await delivery();
    for (let attempt = 0; attempt < 5; attempt++) {
      expect(await receiver.receive(repeated)).toMatchObject({ status: 503 });
    }
    comeBack();
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "handled" });
    expect(runs).toBe(1);
  });
});

describe("late claims", () => {
  /** A claim that is granted at once but whose result arrives after the gateway was answered. */
  async function lateClaim(faults: Partial<DeliveryStore> = {}, before?: ClaimResult) {
    const inner = memoryStore();
    const answered = deferred();
    const spy = spiedStore(
      {
        async claim(...call) {
          const isFirst = spy.count("claim") === 1;
          const result = before ?? (await inner.claim(...call));
          if (isFirst) await answered.promise;
          return result;
        },
        ...faults,
      },
      inner,
    );
    let runs = 0;
    const { receiver, lines } = observedAlarmReceiver(() => (runs += 1), { store: spy.store });
    const repeated = await delivery();
    const { answer } = await receiveUntil(spy.store, "claim", receiver, repeated);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await answer).toMatchObject({ status: 503, outcome: "store_unavailable" });
    answered.resolve();
    await vi.advanceTimersByTimeAsync(0);
    return { spy, receiver, repeated, lines, runs: () => runs };
  }

  it("a late claim is released with its own owner, so that the redelivery runs at once", async () => {
    const { spy, receiver, repeated, runs } = await lateClaim();
    expect(spy.calls.map(({ method }) => method)).toEqual(["claim", "release"]);
    expect(spy.calls[1]?.owner).toBe(spy.calls[0]?.owner);
    expect(runs()).toBe(0);
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "handled" });
    expect(runs()).toBe(1);
  });

  it.each<ClaimResult>([{ state: "completed" }, { state: "in_flight", retryAfterMs: 1 }])(
    "a late claim is not released if its state is $state",
    async (before) => {
      const { spy } = await lateClaim({}, before);
      expect(spy.count("release")).toBe(0);
    },
  );

  it.each([
    ["throws", throws],
    ["rejects", rejects],
  ])(
    "a late claim whose release always %s is refused until its lease ends by itself",
    async (_how, release) => {
      const { receiver, repeated, lines, runs } = await lateClaim({ release });
      expect(linesWith(lines, "release failed")).toHaveLength(1);
      expect(await receiver.receive(repeated)).toMatchObject({ status: 409, outcome: "in_flight" });
      await vi.advanceTimersByTimeAsync(30_000);
      expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "handled" });
      expect(runs()).toBe(1);
    },
  );
});

describe("failed releases", () => {
  it.each<[string, () => Promise<void>]>([
    ["throws", throws],
    ["rejects", rejects],
    ["hangs", never<void>],
  ])(
    "a release that always fails changes no outcome and ends with its lease if the store %s",
    async (how, release) => {
      let runs = 0;
      const error = new Error("the handler's own");
      const store: DeliveryStore = { ...memoryStore(), release };
      const failOnce = () => {
        if ((runs += 1) === 1) throw error;
      };
      const { receiver, lines, reports } = observedAlarmReceiver(failOnce, { store });
      const repeated = await delivery();
      const { answer } = await receiveUntil(store, "release", receiver, repeated);
      if (how === "hangs") await vi.advanceTimersByTimeAsync(5_000);
      expect(await answer).toMatchObject({ status: 500, outcome: "handler_failed" });
      expect(reports).toMatchObject([{ outcome: "handler_failed", error }]);
      expect(linesWith(lines, "release failed")).toHaveLength(1);
      expect(await receiver.receive(repeated)).toMatchObject({ status: 409, outcome: "in_flight" });
      await vi.advanceTimersByTimeAsync(30_000);
      expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "handled" });
      expect(reports.at(-1)).toMatchObject({ takeover: true });
    },
  );

  it("a failure is answered when the store has released its claim, so that the next attempt can run", async () => {
    const released = deferred();
    const store: DeliveryStore = { ...memoryStore(), release: () => released.promise };
    const releasing = firstCall(store, "release");
    const { run } = await heldRun({ store });
    const { state } = watched(run.answer);
    run.reject(new Error("fails"));
    await releasing;
    await vi.advanceTimersByTimeAsync(0);
    expect(state.isResolved).toBe(false);
    released.resolve();
    expect(await run.answer).toMatchObject({ status: 500, outcome: "handler_failed" });
  });

  it("a hanging release does not keep the lease: after it ends, a redelivery takes over", async () => {
    const spy = spiedStore({ release: never<void> });
    const releasing = firstCall(spy.store, "release");
    const times = { leaseMs: 3_000, dependencyTimeoutMs: 60_000 };
    const { repeated, run, start } = await heldRun({ store: spy.store, ...times });
    run.reject(new Error("failed"));
    await releasing;
    await vi.advanceTimersByTimeAsync(3_000);
    expect(spy.count("renew")).toBe(0);
    const next = await start(repeated);
    expect(next.context.takeover).toBe(true);
    expect(await next.succeed()).toMatchObject({ status: 200, outcome: "handled" });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await run.answer).toMatchObject({ status: 500, outcome: "handler_failed" });
  });
});
