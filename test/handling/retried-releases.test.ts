import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type ClaimResult, type DeliveryStore } from "../../src/index.js";
import {
  HANDLED,
  IN_FLIGHT,
  UNAVAILABLE,
  alarmReceiver,
  answerOf,
  heldReceiver,
  observedAlarmReceiver,
  send,
} from "../support/alarm-receiver.js";
import { deferred, never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import { DOWN, rejects, throwing, throws } from "../support/faults.js";
import {
  claimedElsewhere,
  failingStore,
  openWork,
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
  it("a claim whose answer is lost is released in the background, so the next attempt runs", async () => {
    const { send, reports } = observedAlarmReceiver(undefined, { store: lostClaim().store });
    expect(await send()).toBe(UNAVAILABLE);
    await pass(1_000);
    expect(await send()).toBe(HANDLED);
    expect(reports.at(-1)).not.toHaveProperty("takeover");
  });

  it("a claim that the store grants after it was released is released again, until its lease's time is over", async () => {
    const { store, inner, calls, count } = lostClaim({ granted: false });
    const { send, reports } = observedAlarmReceiver(undefined, { store });
    expect(await send()).toBe(UNAVAILABLE);
    await pass(10_500);
    expect(count("release")).toBeGreaterThan(0);
    // The command of the broken connection arrives now.
    const { key, owner } = calls[0] ?? expect.fail("nothing was claimed");
    await inner.claim(key, owner, { leaseMs: 30_000, retentionMs: 300_000 });
    expect(await send()).toBe(IN_FLIGHT);
    await pass(2_000);
    expect(await send()).toBe(HANDLED);
    expect(reports.at(-1)).not.toHaveProperty("takeover");
    await pass(20_000);
    expect(vi.getTimerCount()).toBe(0);
    const released = calls.filter(({ method }) => method === "release");
    expect(new Set(released.map((call) => call.owner))).toEqual(new Set([owner]));
  });

  it("the release of a lost claim does not end the run of a copy that has claimed meanwhile", async () => {
    const { store, inner, calls, count } = lostClaim({ granted: false });
    const { send, runs, start } = heldReceiver({ store, handlerTimeoutMs: 60_000 });
    expect(await send()).toBe(UNAVAILABLE);
    const run = await start();
    await pass(5_000);
    expect(count("release")).toBeGreaterThan(0);
    expect(await claimedElsewhere(inner, [calls[0]?.key ?? ""])).toEqual(["in_flight"]);
    expect(run.context.signal.aborted).toBe(false);
    expect(await answerOf(run.succeed())).toBe(HANDLED);
    await pass(60_000);
    expect(await send()).toBe("200 duplicate");
    expect(runs).toHaveLength(1);
  });

  it("a claim that fails after its time-out is released as well", async () => {
    const failure = deferred<ClaimResult>();
    const { store, calls, count } = spiedStore({ claim: () => failure.promise });
    const receiver = alarmReceiver(() => undefined, { store });
    const { answer } = await receiveUntil(store, "claim", receiver);
    await pass(5_000);
    expect(await answerOf(answer)).toBe(UNAVAILABLE);
    failure.reject(DOWN);
    await pass(0);
    expect(count("release")).toBe(0);
    await pass(1_000);
    expect(calls.map(({ method }) => method)).toEqual(["claim", "release"]);
    expect(calls[1]?.owner).toBe(calls[0]?.owner);
  });

  it("an outage that is longer than the lease leaves no takeover behind", async () => {
    const { store, comeBack } = failingStore("release");
    let isLost = true;
    const claim: DeliveryStore["claim"] = async (...call) => {
      const result = await store.claim(...call);
      if (isLost) throw DOWN;
      return result;
    };
    const { send, reports } = observedAlarmReceiver(undefined, { store: { ...store, claim } });
    await send();
    await pass(120_000);
    comeBack();
    isLost = false;
    await pass(2_000);
    expect(await send()).toBe(HANDLED);
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
      const ends = [throwing(new Error("the handler's own"))];
      const { receiver, send, reports } = observedAlarmReceiver(() => ends.shift()?.(), { store });
      const { answer } = await receiveUntil(store, "release", receiver);
      await pass(5_000);
      expect(await answerOf(answer)).toBe("500 handler_failed");
      expect(await send()).toBe(IN_FLIGHT);
      comeBack();
      await pass(8_000);
      expect(await send()).toBe(HANDLED);
      expect(reports.at(-1)).not.toHaveProperty("takeover");
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it("a release that the store refuses does not hold up completions", async () => {
    const { store, inner } = failingStore("release");
    let isDown = true;
    const complete: DeliveryStore["complete"] = (...call) =>
      isDown ? rejects() : inner.complete(...call);
    const ends = [throws];
    const receiver = alarmReceiver(() => ends.shift()?.(), { store: { ...store, complete } });
    expect(await send(receiver, "fails")).toBe("500 handler_failed");
    expect(await send(receiver, "handled")).toBe(HANDLED);
    isDown = false;
    await pass(1_000);
    expect(await claimedElsewhere(inner, ["handled"])).toEqual(["completed"]);
  });
});

describe("releases that wait for the store", () => {
  it("waitUntil receives a lost claim and a failed release, until the store has released them", async () => {
    const { state, waitUntil } = openWork();
    const lost = lostClaim();
    const failed = failingStore("release");
    for (const { store } of [lost, failed]) {
      const receiver = alarmReceiver(throws, { store });
      await receiver.receive({ ...(await delivery()), waitUntil });
    }
    expect(state).toEqual({ given: 2, settled: 0 });
    await pass(1_000);
    expect(state.settled).toBe(1);
    failed.comeBack();
    await pass(2_000);
    expect(state).toEqual({ given: 2, settled: 2 });
  });

  it("drain releases a lost claim and repeats a failed release at once", async () => {
    const lost = lostClaim();
    const failed = failingStore("release");
    for (const { store, inner } of [lost, failed]) {
      failed.goDown();
      const receiver = alarmReceiver(throws, { store });
      await send(receiver, "one");
      expect(await claimedElsewhere(inner, ["one"])).toEqual(["in_flight"]);
      failed.comeBack();
      await receiver.drain();
      expect(await claimedElsewhere(inner, ["one"])).toEqual(["claimed"]);
    }
  });
});
