import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import { heldHandler, heldRun, observedAlarmReceiver } from "../support/alarm-receiver.js";
import { delivery } from "../support/deliveries.js";
import { rejects } from "../support/faults.js";
import { claimedElsewhere, failingStore, heldCompletions } from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

const LEASE_MS = 3_000;
const once = "record";
const named = (id: string) => delivery({ id });
const IN_FLIGHT = { status: 409, outcome: "in_flight" };
const DUPLICATE = { status: 200, outcome: "duplicate" };

describe("a record that runs in this process, under another of its ids,", () => {
  it("is in flight after the store has lost the lease during a failed renewal", async () => {
    const store: DeliveryStore = { ...memoryStore(), renew: rejects };
    const held = await heldRun({ once, store, leaseMs: LEASE_MS }, await named("first"));
    await vi.advanceTimersByTimeAsync(3 * LEASE_MS);
    expect(await held.receiver.receive(await named("second"))).toMatchObject(IN_FLIGHT);
    expect(held.reports.at(-1)).toMatchObject({ id: "second", sameRecord: true });
    expect(held.runs).toHaveLength(1);
    expect(await held.run.succeed()).toMatchObject({ outcome: "handled" });
    expect(await held.receiver.receive(await named("second"))).toMatchObject(DUPLICATE);
  });

  it("is in flight after a pause of the process of 2.6 leases, if a request comes before its timers", async () => {
    vi.useRealTimers();
    const options = { once, leaseMs: 1_000 } as const;
    const { receiver, run, runs } = await heldRun(options, await named("first"));
    const second = await named("second");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_600);
    expect(await receiver.receive(second)).toMatchObject(IN_FLIGHT);
    expect(runs).toHaveLength(1);
    expect(await run.succeed()).toMatchObject({ outcome: "handled" });
  });

  it("is free again after it has failed", async () => {
    const { handler, runs, start } = heldHandler();
    const { receiver } = observedAlarmReceiver(handler, { once });
    const run = await start(receiver, await named("first"));
    await run.fail(new Error("failed"));
    const second = await start(receiver, await named("second"));
    expect(await second.succeed()).toMatchObject({ outcome: "handled" });
    expect(runs).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is the store's to decide if the runtime has ended its request", async () => {
    const store = memoryStore();
    const { handler, runs, start } = heldHandler();
    const { receiver } = observedAlarmReceiver(handler, { once, store, leaseMs: LEASE_MS });
    await start(receiver, await named("first"));
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(3 * LEASE_MS);
    const starting = start(receiver, await named("second"));
    await vi.advanceTimersByTimeAsync(2);
    const second = await starting;
    expect(second.context.takeover).toBe(true);
    expect(await receiver.receive(await named("third"))).toMatchObject(IN_FLIGHT);
    expect(await second.succeed()).toMatchObject({ outcome: "handled" });
    expect(runs).toHaveLength(2);
  });
});

describe("a record that was handled in this process, under another of its ids,", () => {
  it("is a duplicate while its completion waits for the store, also after the lease", async () => {
    const { store, inner, comeBack } = failingStore("complete");
    const { handler, runs, start } = heldHandler();
    const { receiver, reports } = observedAlarmReceiver(handler, { once, store });
    expect(await (await start(receiver, await named("first"))).succeed()).toMatchObject({
      outcome: "handled",
    });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(await receiver.receive(await named("second"))).toMatchObject(DUPLICATE);
    expect(reports.at(-1)?.sameRecord).toBe(true);
    comeBack();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await claimedElsewhere(inner, ["first"])).toEqual(["completed"]);
    expect(await receiver.receive(await named("third"))).toMatchObject(DUPLICATE);
    expect(runs).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is a duplicate while its completion is on its way", async () => {
    const { store, ends } = heldCompletions();
    const { handler, runs, start } = heldHandler();
    const { receiver } = observedAlarmReceiver(handler, { once, store });
    const run = await start(receiver, await named("first"));
    const first = run.succeed();
    await vi.waitUntil(() => ends.length === 1);
    expect(await receiver.receive(await named("second"))).toMatchObject(DUPLICATE);
    ends[0]?.resolve();
    await vi.waitUntil(() => ends.length === 2);
    ends[1]?.resolve();
    expect(await first).toMatchObject({ outcome: "handled" });
    expect(runs).toHaveLength(1);
  });
});
