import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type ClaimResult, type DeliveryStore } from "../../src/index.js";
import {
  DUPLICATE,
  HANDLED,
  IN_FLIGHT,
  alarmReceiver,
  answerOf,
  heldReceiver,
  heldRun,
  observedAlarmReceiver,
  send,
} from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { deferred, never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import { rejects, throws } from "../support/faults.js";
import { failingStore, firstCall, receiveUntil, spiedStore } from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

const LEASE_MS = 3_000;
/** A short lease, and time for a store that is slow. */
const SLOW_STORE = { leaseMs: LEASE_MS, dependencyTimeoutMs: 60_000 };
/** Time for a handler that outlasts its leases. */
const LONG_HANDLER = { handlerTimeoutMs: 3_600_000 };

/** A memory store whose renewals are these. */
const renewing = (renew: DeliveryStore["renew"]): DeliveryStore => ({ ...memoryStore(), renew });

describe("renewals", () => {
  it("the lease is renewed three times within its length, and no longer after the handler has ended", async () => {
    const { store, count, calls } = spiedStore();
    const { receiver, run } = await heldRun({ store, ...LONG_HANDLER });
    await pass(9_999);
    expect(count("renew")).toBe(0);
    await pass(1);
    expect(count("renew")).toBe(1);
    await pass(590_000);
    expect(count("renew")).toBe(60);
    expect(await send(receiver)).toBe(IN_FLIGHT);
    expect(await answerOf(run.succeed())).toBe(HANDLED);
    await pass(600_000);
    expect(count("renew")).toBe(60);
    expect(new Set(calls.map(({ owner }) => owner)).size).toBe(1);
  });

  it("the lease is renewed if timers are numbers, as outside Node", async () => {
    const start = setTimeout;
    vi.stubGlobal("setTimeout", (run: () => void, ms: number) => Number(start(run, ms)));
    const { store, count } = spiedStore();
    const { run } = await heldRun({ store });
    await pass(10_000);
    expect(count("renew")).toBe(1);
    expect(await answerOf(run.succeed())).toBe(HANDLED);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<[string, () => Promise<boolean>]>([
    ["throws", throws],
    ["rejects", rejects],
    ["hangs", never<boolean>],
  ])("a renewal is tried again and keeps the lease if the store %s once", async (_how, fault) => {
    const inner = memoryStore();
    const { store, count } = spiedStore(
      {
        renew: (...call) => (count("renew") === 1 ? fault() : inner.renew(...call)),
      },
      inner,
    );
    const { receiver, run, runs, lines } = await heldRun({ store, ...LONG_HANDLER });
    for (let seconds = 0; seconds < 120; seconds += 5) {
      await pass(5_000);
      expect(await send(receiver)).toBe(IN_FLIGHT);
    }
    expect(run.context.signal.aborted).toBe(false);
    expect(linesWith(lines, "renewal of the lease failed")).toHaveLength(1);
    expect(await answerOf(run.succeed())).toBe(HANDLED);
    expect(runs).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a failed renewal is tried again each second, which saves a lease that is about to end", async () => {
    const { store, comeBack } = failingStore("renew");
    const { run } = await heldRun({ store, ...LONG_HANDLER });
    await pass(28_500);
    comeBack();
    await pass(10_000);
    const other = alarmReceiver(() => expect.fail("run twice"), { store });
    expect(await send(other)).toBe(IN_FLIGHT);
    expect(await answerOf(run.succeed())).toBe(HANDLED);
  });

  it("after renewals fail for a whole lease a redelivery takes over, and the loser's signal aborts", async () => {
    const { store, comeBack } = failingStore("renew");
    const held = await heldRun({ store, ...LONG_HANDLER });
    const { receiver, repeated, run: loser } = held;
    await pass(29_999);
    expect(await send(receiver)).toBe(IN_FLIGHT);
    await pass(1);
    const winner = await held.start(repeated, alarmReceiver(held.handler, { store }));
    expect(winner.context.takeover).toBe(true);
    comeBack();
    await pass(10_000);
    expect(loser.context.signal.aborted).toBe(true);
    expect(winner.context.signal.aborted).toBe(false);
  });

  it.each<[string, () => Promise<boolean>]>([
    ["rejects", rejects],
    ["hangs", never<boolean>],
  ])("the signal aborts after a lease without renewals if the store %s", async (_how, renew) => {
    const { store, count } = spiedStore({ renew });
    const { run } = await heldRun({ store, ...LONG_HANDLER });
    const { signal } = run.context;
    await pass(29_999);
    expect(signal.aborted).toBe(false);
    await pass(20_001);
    expect(signal.aborted).toBe(true);
    const renewals = count("renew");
    await pass(600_000);
    expect(count("renew")).toBe(renewals);
    expect(await answerOf(run.succeed())).toBe(HANDLED);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a renewal that is answered after the handler has ended aborts nothing", async () => {
    const renewal = deferred<boolean>();
    const { run } = await heldRun({ store: renewing(() => renewal.promise) });
    await pass(10_000);
    expect(await answerOf(run.succeed())).toBe(HANDLED);
    renewal.resolve(false);
    await pass(60_000);
    expect(run.context.signal.aborted).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a renewal that is refused because of the completion does not abort a successful handler's signal", async () => {
    const [renewal, completion] = [deferred<boolean>(), deferred()];
    const complete = () => completion.promise;
    const { run } = await heldRun({ store: { ...renewing(() => renewal.promise), complete } });
    await pass(10_000);
    run.resolve();
    await pass(0);
    renewal.resolve(false);
    await pass(0);
    completion.resolve();
    expect(await answerOf(run.answer)).toBe(HANDLED);
    expect(run.context.signal.aborted).toBe(false);
  });

  it("a renewal that the store refuses after the handler has succeeded aborts nothing", async () => {
    const completed = deferred();
    const renew = vi.fn(() => false);
    const complete = () => completed.promise;
    const { run } = await heldRun({ store: { ...renewing(renew), complete }, ...SLOW_STORE });
    const { signal } = run.context;
    run.resolve();
    await pass(1_000);
    expect(renew).toHaveBeenCalledTimes(1);
    expect(signal.aborted).toBe(false);
    completed.resolve();
    expect(await answerOf(run.answer)).toBe(HANDLED);
  });

  it("a lease is not renewed while it is released after a failure", async () => {
    const released = deferred();
    const renew = vi.fn(() => true);
    const release = () => released.promise;
    const { run } = await heldRun({ store: { ...renewing(renew), release }, ...SLOW_STORE });
    run.reject(new Error("database is away"));
    await pass(10_000);
    expect(renew).not.toHaveBeenCalled();
    released.resolve();
    expect(await answerOf(run.answer)).toBe("500 handler_failed");
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a lost lease", () => {
  /** The store's clock jumps, as if the process was frozen or the database failed over. */
  async function lostLease() {
    let skewMs = 0;
    const store = memoryStore({ now: () => performance.now() + skewMs });
    const held = await heldRun({ store });
    skewMs = 30_000;
    // Another process: the first one answers redeliveries in flight while its handler runs.
    const onOutcome = (report: (typeof held.reports)[number]) => held.reports.push(report);
    const other = alarmReceiver(held.handler, { store, onOutcome });
    const winner = await held.start(held.repeated, other);
    return { ...held, loser: held.run, winner };
  }

  it("a lost lease is taken over, and context and report say so", async () => {
    const { reports, loser, winner } = await lostLease();
    expect([loser.context.takeover, winner.context.takeover]).toEqual([false, true]);
    expect(await answerOf(winner.succeed())).toBe(HANDLED);
    expect(reports).toMatchObject([{ outcome: "handled", takeover: true }]);
  });

  it("a lost lease aborts the loser's signal at its next renewal, and not the winner's", async () => {
    const { loser, winner } = await lostLease();
    expect(loser.context.signal.aborted).toBe(false);
    await pass(10_000);
    expect(loser.context.signal.aborted).toBe(true);
    expect(loser.context.signal.reason).toMatchObject({
      name: "GatewayWebhookError",
      code: "lease_lost",
      message: expect.stringContaining("another process may be handling it") as string,
    });
    expect(winner.context.signal.aborted).toBe(false);
  });

  it("a late success counts even if the lease was lost", async () => {
    const { receiver, reports, loser, winner } = await lostLease();
    expect(await answerOf(loser.succeed())).toBe(HANDLED);
    expect(await send(receiver)).toBe(DUPLICATE);
    const failed = winner.fail(new Error("the second run found it done"));
    expect(await answerOf(failed)).toBe("500 handler_failed");
    expect(await send(receiver)).toBe(DUPLICATE);
    expect(reports.find(({ outcome }) => outcome === "handled")).not.toHaveProperty("takeover");
  });

  it("a loser that fails does not release the winner's lease", async () => {
    const { receiver, loser, winner } = await lostLease();
    const failed = loser.fail(new Error("noticed the lost lease"));
    expect(await answerOf(failed)).toBe("500 handler_failed");
    expect(await send(receiver)).toBe(IN_FLIGHT);
    expect(await answerOf(winner.succeed())).toBe(HANDLED);
    expect(await send(receiver)).toBe(DUPLICATE);
  });
});

describe("a lease known in this process", () => {
  const secondsLeft = async ({ receiver, repeated }: Awaited<ReturnType<typeof heldRun>>) =>
    (await receiver.receive(repeated)).headers["retry-after"];

  it("a renewal extends the lease that this process knows, for redeliveries and for the abort", async () => {
    const { store, goDown, comeBack } = failingStore("renew");
    comeBack();
    const held = await heldRun({ store, ...LONG_HANDLER });
    const { signal } = held.run.context;
    await pass(11_000);
    expect(await secondsLeft(held)).toBe("29");
    goDown();
    await pass(28_999);
    expect(signal.aborted).toBe(false);
    await pass(1);
    expect(signal.aborted).toBe(true);
    await held.run.succeed();
  });

  it("a refused renewal does not extend the lease that this process knows", async () => {
    const held = await heldRun({ store: renewing(() => false) });
    await pass(11_000);
    expect(await secondsLeft(held)).toBe("19");
    await held.run.succeed();
  });

  it("a lease counts from the time at which the store was asked, however late its answer comes", async () => {
    const renewed = deferred<boolean>();
    const held = await heldRun({ store: renewing(() => renewed.promise) });
    await pass(14_000);
    renewed.resolve(true);
    await pass(0);
    // Asked 10 s after the claim, and answered 4 s later.
    expect(await secondsLeft(held)).toBe("26");
    await held.run.succeed();
  });

  it("the lease ends with the handler, even if a renewal is still pending", async () => {
    const renewal = deferred<boolean>();
    const { run, start } = await heldRun({ store: renewing(() => renewal.promise) });
    await pass(10_000);
    expect(await answerOf(run.fail(new Error("failed")))).toBe("500 handler_failed");
    renewal.resolve(true);
    await pass(0);
    expect(vi.getTimerCount()).toBe(0);
    expect(await answerOf((await start()).succeed())).toBe(HANDLED);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a stored completion is forgotten here, so that the store decides after the retention", async () => {
    let skewMs = 0;
    const inner = memoryStore({ now: () => performance.now() + skewMs });
    const complete: DeliveryStore["complete"] = async (...call) => inner.complete(...call);
    const { send, runs } = observedAlarmReceiver(undefined, { store: { ...inner, complete } });
    expect(await send()).toBe(HANDLED);
    expect(await send()).toBe(DUPLICATE);
    skewMs = 8 * 86_400_000;
    expect(await send()).toBe(HANDLED);
    expect(runs).toHaveLength(2);
  });

  it("a slow claim that is granted during a run is released before the redelivery is answered 409", async () => {
    const inner = memoryStore();
    const [slow, releasing] = [deferred<ClaimResult>(), deferred()];
    const { store, count } = spiedStore(
      {
        claim: (...call) => (count("claim") === 1 ? slow.promise : inner.claim(...call)),
        release: () => releasing.promise,
      },
      inner,
    );
    const released = firstCall(store, "release");
    const { receiver, runs, start } = heldReceiver({ store });
    const { answer } = await receiveUntil(store, "claim", receiver);
    let isAnswered = false;
    void answer.finally(() => (isAnswered = true));
    const run = await start();
    slow.resolve({ state: "claimed", takeover: true });
    await released;
    await pass(0);
    expect(isAnswered).toBe(false);
    releasing.resolve();
    expect(await answerOf(answer)).toBe(IN_FLIGHT);
    await run.succeed();
    expect(runs).toHaveLength(1);
  });
});

const realImmediate = setImmediate;

/** Lets WebCrypto and the timers run until `promise` has settled. */
async function untilSettled<T>(promise: Promise<T>): Promise<T> {
  const state = { isSettled: false };
  void promise.finally(() => (state.isSettled = true));
  while (!state.isSettled) {
    await new Promise((resolve) => realImmediate(resolve));
    await pass(1);
  }
  return promise;
}

describe("runs that the runtime has ended, so that none of their timers fires any more", () => {
  it("a run without renewals is in flight for two leases, then the next granted attempt handles it", async () => {
    const { receiver, runs, start } = await heldRun({ leaseMs: LEASE_MS });
    vi.clearAllTimers();
    await pass(LEASE_MS / 3 + 2 * LEASE_MS);
    expect(await send(receiver)).toBe(IN_FLIGHT);
    await pass(1);
    const second = await untilSettled(start());
    expect(runs).toHaveLength(2);
    expect(second.context.takeover).toBe(true);
    expect(await answerOf(second.succeed())).toBe(HANDLED);
  });

  it("a run without renewals is a duplicate if another process completed it meanwhile", async () => {
    const store = memoryStore();
    const request = await delivery({ id: "shared" });
    const { receiver, runs } = await heldRun({ leaseMs: LEASE_MS, store }, request);
    vi.clearAllTimers();
    void store.complete("shared", "another process", { retentionMs: 86_400_000 });
    await pass(3 * LEASE_MS);
    expect(await untilSettled(send(receiver, request))).toBe(DUPLICATE);
    expect(runs).toHaveLength(1);
  });

  it.each<[string, () => DeliveryStore]>([
    ["does not stop the renewals of the new run", memoryStore],
    [
      "leaves its successor in flight, also while the store loses the lease",
      () => renewing(rejects),
    ],
  ])("a run that settles after a takeover %s", async (_what, storeOf) => {
    const { receiver, run, runs, start } = await heldRun({ leaseMs: LEASE_MS, store: storeOf() });
    vi.clearAllTimers();
    await pass(3 * LEASE_MS);
    const second = await untilSettled(start());
    run.reject(new Error("thawed, and too late"));
    await pass(3 * LEASE_MS);
    expect(await send(receiver)).toBe(IN_FLIGHT);
    expect(runs).toHaveLength(2);
    expect(await answerOf(second.succeed())).toBe(HANDLED);
  });
});

it("a run stays in flight however long the store is unavailable, even after its lease is lost", async () => {
  const { receiver, run, runs } = await heldRun({ leaseMs: LEASE_MS, store: renewing(rejects) });
  for (let leases = 0; leases < 20; leases++) {
    await pass(LEASE_MS);
    expect(await send(receiver)).toBe(IN_FLIGHT);
  }
  run.resolve();
  await pass(0);
  expect(runs).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

it("a run stays in flight after a pause of the process if a request comes before its timers", async () => {
  vi.useRealTimers();
  const { receiver, repeated, run, runs } = await heldRun({ leaseMs: 1_000 });
  // Blocks the event loop for longer than renewals may be overdue.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
  expect(await send(receiver, repeated)).toBe(IN_FLIGHT);
  expect(runs).toHaveLength(1);
  expect(await answerOf(run.succeed())).toBe(HANDLED);
});
