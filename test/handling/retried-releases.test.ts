import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type ClaimResult, type DeliveryStore } from "../../src/index.js";
import { alarmReceiver, heldReceiver, observedAlarmReceiver } from "../support/alarm-receiver.js";
import { deferred, never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { DOWN, rejects, throws } from "../support/faults.js";
import { trustingReceiver } from "../support/recording-receiver.js";
import {
  claimedElsewhere,
  failingStore,
  receiveUntil,
  spiedStore,
} from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

/** A store whose first claim rejects. `granted`: whether the claim was granted before its answer was lost. */
function lostClaim({ granted = true } = {}) {
  const inner = memoryStore();
  const spy = spiedStore(
    {
      async claim(...call) {
        if (spy.count("claim") > 1) return inner.claim(...call);
        if (granted) await inner.claim(...call);
        throw DOWN;
      },
    },
    inner,
  );
  return { ...spy, inner };
}

describe("a claim whose answer is lost", () => {
  it("a claim whose answer is lost is released in the background, so that the next attempt runs without takeover", async () => {
    const { store } = lostClaim();
    const { receiver, reports } = observedAlarmReceiver(() => undefined, { store });
    const repeated = await delivery();
    expect(await receiver.receive(repeated)).toMatchObject({ outcome: "store_unavailable" });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "handled" });
    expect(reports.at(-1)).not.toHaveProperty("takeover");
  });

  it("a claim that the store grants after it was released is released again, until its lease's time is over", async () => {
    const { store, inner, calls, count } = lostClaim({ granted: false });
    const { receiver, reports } = observedAlarmReceiver(() => undefined, { store });
    const repeated = await delivery();
    expect(await receiver.receive(repeated)).toMatchObject({ outcome: "store_unavailable" });
    await vi.advanceTimersByTimeAsync(10_500);
    expect(count("release")).toBeGreaterThan(0);
    // The command of the broken connection arrives now.
    const { key, owner } = calls[0] ?? expect.fail("nothing was claimed");
    await inner.claim(key, owner, { leaseMs: 30_000, retentionMs: 300_000 });
    expect(await receiver.receive(repeated)).toMatchObject({ status: 409, outcome: "in_flight" });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "handled" });
    expect(reports.at(-1)).not.toHaveProperty("takeover");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(vi.getTimerCount()).toBe(0);
    expect(new Set(calls.flatMap((call) => (call.method === "release" ? call.owner : [])))).toEqual(
      new Set([owner]),
    );
  });

  it("the release of a lost claim does not end the run of a copy that has claimed meanwhile", async () => {
    const { store, inner, calls, count } = lostClaim({ granted: false });
    const { receiver, runs, start } = heldReceiver({ store, handlerTimeoutMs: 60_000 });
    const repeated = await delivery();
    expect(await receiver.receive(repeated)).toMatchObject({ outcome: "store_unavailable" });
    const run = await start(repeated);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(count("release")).toBeGreaterThan(0);
    const { key } = calls[0] ?? expect.fail("nothing was claimed");
    expect(await claimedElsewhere(inner, [key])).toEqual(["in_flight"]);
    expect(run.context.signal.aborted).toBe(false);
    expect(await run.succeed()).toMatchObject({ status: 200, outcome: "handled" });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await receiver.receive(repeated)).toMatchObject({ outcome: "duplicate" });
    expect(runs).toHaveLength(1);
  });

  it("a claim that fails after its time-out is released as well", async () => {
    const failure = deferred<ClaimResult>();
    const spy = spiedStore({ claim: () => failure.promise });
    const receiver = alarmReceiver(() => undefined, { store: spy.store });
    const { answer } = await receiveUntil(spy.store, "claim", receiver);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await answer).toMatchObject({ outcome: "store_unavailable" });
    failure.reject(DOWN);
    await vi.advanceTimersByTimeAsync(0);
    expect(spy.count("release")).toBe(0);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(spy.calls.map(({ method, owner }) => [method, owner])).toEqual([
      ["claim", spy.calls[0]?.owner],
      ["release", spy.calls[0]?.owner],
    ]);
  });

  it("an outage that is longer than the lease leaves no takeover behind", async () => {
    const { store, comeBack } = failingStore("release");
    let isLost = true;
    const losing: DeliveryStore = {
      ...store,
      async claim(...call) {
        const result = await store.claim(...call);
        if (isLost) throw DOWN;
        return result;
      },
    };
    const { receiver, reports } = observedAlarmReceiver(() => undefined, { store: losing });
    const repeated = await delivery();
    await receiver.receive(repeated);
    await vi.advanceTimersByTimeAsync(120_000);
    comeBack();
    isLost = false;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await receiver.receive(repeated)).toMatchObject({ outcome: "handled" });
    expect(reports.at(-1)).not.toHaveProperty("takeover");
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a release that fails", () => {
  it.each<[string, () => Promise<never>]>([
    ["throws", throws],
    ["rejects", rejects],
    ["hangs", never],
  ])(
    "a release that %s is repeated, so that the next attempt runs without takeover",
    async (_how, fault) => {
      const { store, comeBack } = failingStore("release", fault);
      let runs = 0;
      const failOnce = () => {
        if ((runs += 1) === 1) throw new Error("the handler's own");
      };
      const { receiver, reports } = observedAlarmReceiver(failOnce, { store });
      const repeated = await delivery();
      const { answer } = await receiveUntil(store, "release", receiver, repeated);
      await vi.advanceTimersByTimeAsync(5_000);
      expect(await answer).toMatchObject({ status: 500, outcome: "handler_failed" });
      expect(await receiver.receive(repeated)).toMatchObject({ status: 409, outcome: "in_flight" });
      comeBack();
      await vi.advanceTimersByTimeAsync(8_000);
      expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "handled" });
      expect(reports.at(-1)).not.toHaveProperty("takeover");
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it("a release that the store refuses does not hold up completions", async () => {
    const { store, inner } = failingStore("release");
    let isDown = true;
    const complete: DeliveryStore["complete"] = (...call) =>
      isDown ? rejects() : inner.complete(...call);
    const fails = ({ id }: { id: string }) => {
      if (id === "fails") throw new Error("the handler's own");
    };
    const receiver = alarmReceiver(fails, { store: { ...store, complete } });
    await receiver.receive(await delivery({ id: "fails" }));
    await receiver.receive(await delivery({ id: "handled" }));
    isDown = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await claimedElsewhere(inner, ["handled"])).toEqual(["completed"]);
  });
});

describe("releases that wait for the store", () => {
  it("waitUntil receives a lost claim and a failed release, until the store has released them", async () => {
    const state = { given: 0, settled: 0 };
    const waitUntil = (work: Promise<unknown>): void => {
      state.given += 1;
      void work.then(() => (state.settled += 1));
    };
    const lost = lostClaim();
    const failed = failingStore("release");
    for (const { store } of [lost, failed]) {
      const receiver = alarmReceiver(throws, { store });
      await receiver.receive({ ...(await delivery()), waitUntil });
    }
    expect(state).toEqual({ given: 2, settled: 0 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(state.settled).toBe(1);
    failed.comeBack();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(state).toEqual({ given: 2, settled: 2 });
  });

  it("drain releases a lost claim and repeats a failed release at once", async () => {
    const lost = lostClaim();
    const failed = failingStore("release");
    for (const { store, inner } of [lost, failed]) {
      failed.goDown();
      const receiver = alarmReceiver(throws, { store });
      await receiver.receive(await delivery({ id: "one" }));
      expect(await claimedElsewhere(inner, ["one"])).toEqual(["in_flight"]);
      failed.comeBack();
      await receiver.drain();
      expect(await claimedElsewhere(inner, ["one"])).toEqual(["claimed"]);
    }
  });

  it("at most 10 000 releases wait for a retry, and the oldest is given up", async () => {
    const { store, count, comeBack } = failingStore("release");
    const { receiver } = trustingReceiver({ store, handlers: { new_alarm: throws } });
    const { headers, ...rest } = await delivery();
    const open = new Set<string>();
    for (let n = 0; n <= 10_000; n++) {
      const id = `delivery-${n}`;
      const waitUntil = (work: Promise<unknown>): void => {
        open.add(id);
        void work.then(() => open.delete(id));
      };
      await receiver.receive({ ...rest, headers: { ...headers, "x-webhook-id": id }, waitUntil });
    }
    expect(open.size).toBe(10_000);
    expect(open.has("delivery-0")).toBe(false);
    comeBack();
    await receiver.drain();
    expect(count("release")).toBe(20_001);
    expect(open.size).toBe(0);
  });
});
