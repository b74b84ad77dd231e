import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import { heldReceiver, heldRun } from "../support/alarm-receiver.js";
import { createCollector } from "../support/collector.js";
import { delivery } from "../support/deliveries.js";
import { rejects } from "../support/faults.js";

beforeEach(() => vi.useFakeTimers());

const LEASE_MS = 3_000;

const realImmediate = setImmediate;

/** Lets WebCrypto and the timers run until `promise` has settled. */
async function untilSettled<T>(promise: Promise<T>): Promise<T> {
  const state = { isSettled: false };
  void promise.finally(() => (state.isSettled = true));
  while (!state.isSettled) {
    await new Promise((resolve) => realImmediate(resolve));
    await vi.advanceTimersByTimeAsync(1);
  }
  return promise;
}

/** As a runtime that ends a request with its answer: none of its timers fires any more. */
function endRequests() {
  vi.clearAllTimers();
}

describe("runs that the runtime has ended", () => {
  it("a run without renewals is in flight for two leases, then the next granted attempt handles it", async () => {
    const { receiver, runs, start } = heldReceiver({ leaseMs: LEASE_MS });
    await start();
    endRequests();
    await vi.advanceTimersByTimeAsync(LEASE_MS / 3 + 2 * LEASE_MS);
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "in_flight" });
    await vi.advanceTimersByTimeAsync(1);
    const second = await untilSettled(start());
    expect(runs).toHaveLength(2);
    expect(second.context.takeover).toBe(true);
    expect(await second.succeed()).toMatchObject({ outcome: "handled" });
  });

  it("a run without renewals is a duplicate if another process completed it meanwhile", async () => {
    const store = memoryStore();
    const { receiver, runs, start } = heldReceiver({ leaseMs: LEASE_MS, store });
    const request = await delivery({ id: "shared" });
    await start(request);
    endRequests();
    void store.complete("shared", "another process", { retentionMs: 86_400_000 });
    await vi.advanceTimersByTimeAsync(3 * LEASE_MS);
    expect(await untilSettled(receiver.receive(request))).toMatchObject({ outcome: "duplicate" });
    expect(runs).toHaveLength(1);
  });

  it.each<[string, () => DeliveryStore]>([
    ["does not stop the renewals of the new run", memoryStore],
    [
      "leaves its successor in flight, also while the store loses the lease",
      () => ({ ...memoryStore(), renew: rejects }),
    ],
  ])("a run that settles after a takeover %s", async (_what, storeOf) => {
    const store = storeOf();
    const { receiver, run: first, runs, start } = await heldRun({ leaseMs: LEASE_MS, store });
    endRequests();
    await vi.advanceTimersByTimeAsync(3 * LEASE_MS);
    const second = await untilSettled(start());
    first.reject(new Error("thawed, and too late"));
    await vi.advanceTimersByTimeAsync(3 * LEASE_MS);
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "in_flight" });
    expect(runs).toHaveLength(2);
    expect(await second.succeed()).toMatchObject({ outcome: "handled" });
  });
});

describe("runs that continue in this process", () => {
  it("a run stays in flight however long the store is unavailable, even after its lease is lost", async () => {
    const store: DeliveryStore = { ...memoryStore(), renew: rejects };
    const { receiver, run, runs } = await heldRun({
      leaseMs: LEASE_MS,
      store,
      ...createCollector().options,
    });
    for (let leases = 0; leases < 20; leases++) {
      await vi.advanceTimersByTimeAsync(LEASE_MS);
      expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "in_flight" });
    }
    run.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(runs).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a run stays in flight after a pause of the process if a request comes before its timers", async () => {
    vi.useRealTimers();
    const {
      receiver,
      repeated: request,
      run,
      runs,
    } = await heldRun({ leaseMs: 1_000, logger: false });
    // Blocks the event loop for longer than renewals may be overdue.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
    expect(await receiver.receive(request)).toMatchObject({ outcome: "in_flight" });
    expect(runs).toHaveLength(1);
    expect(await run.succeed()).toMatchObject({ outcome: "handled" });
  });
});
