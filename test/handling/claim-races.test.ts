import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type ClaimResult, type DeliveryStore } from "../../src/index.js";
import { alarmReceiver, heldHandler, heldReceiver, heldRun } from "../support/alarm-receiver.js";
import { deferred, never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { throws } from "../support/faults.js";
import { trustingReceiver } from "../support/recording-receiver.js";
import { firstCall, receiveUntil, spiedStore } from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

it.each<[string, () => Promise<boolean>]>([
  ["rejects", () => Promise.reject(new Error("down"))],
  ["hangs", never<boolean>],
])("the signal aborts after a lease without renewals if the store %s", async (_how, renew) => {
  const { store, count } = spiedStore({ renew });
  const { run } = await heldRun({ store, handlerTimeoutMs: 3_600_000 });
  const { signal } = run.context;
  await vi.advanceTimersByTimeAsync(29_999);
  expect(signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(20_001);
  expect(signal.aborted).toBe(true);
  const renewals = count("renew");
  await vi.advanceTimersByTimeAsync(600_000);
  expect(count("renew")).toBe(renewals);
  expect(await run.succeed()).toMatchObject({ outcome: "handled" });
  expect(vi.getTimerCount()).toBe(0);
});

it("a late claim runs no handler if the delivery was handled here and only its completion is missing", async () => {
  const inner = memoryStore();
  const slow = deferred<ClaimResult>();
  let claims = 0;
  const store: DeliveryStore = {
    ...inner,
    claim: (...call) => ((claims += 1) === 1 ? slow.promise : inner.claim(...call)),
    complete: () => Promise.reject(new Error("down")),
  };
  const { receiver, runs, start } = heldReceiver({ store });
  const { answer: slowly } = await receiveUntil(store, "claim", receiver);
  const run = await start();
  expect(await run.succeed()).toMatchObject({ outcome: "handled" });
  slow.resolve({ state: "claimed", takeover: true });
  expect(await slowly).toMatchObject({ status: 200, outcome: "duplicate" });
  expect(runs).toHaveLength(1);
});

it("a process that was frozen for longer than the lease does not run the delivery twice at once", async () => {
  let skewMs = 0;
  const store = memoryStore({ now: () => performance.now() + skewMs });
  const { receiver, repeated, run, runs, start } = await heldRun({ store });
  skewMs = 3_600_000;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(run.context.signal.aborted).toBe(true);
  expect(await receiver.receive(repeated)).toMatchObject({ status: 409, outcome: "in_flight" });
  const stopped = await run.fail(new Error("stopped by the signal"));
  expect(stopped.outcome).toBe("handler_failed");
  const again = await start(repeated);
  expect(await again.succeed()).toMatchObject({ outcome: "handled" });
  expect(runs).toHaveLength(2);
});

it("a claim that takes longer than half of its lease is released without running the handler", async () => {
  const inner = memoryStore();
  const slow = deferred<ClaimResult>();
  const released = vi.fn();
  const handler = vi.fn();
  const store = { ...inner, claim: () => slow.promise, release: released };
  const claimed = firstCall(store, "claim");
  const receiver = alarmReceiver(handler, { store, leaseMs: 1_000, dependencyTimeoutMs: 5_000 });
  const answer = receiver.receive(await delivery());
  await claimed;
  await vi.advanceTimersByTimeAsync(500);
  expect(await answer).toMatchObject({ status: 503, outcome: "store_unavailable" });
  slow.resolve({ state: "claimed", takeover: false });
  await vi.advanceTimersByTimeAsync(0);
  expect(released).toHaveBeenCalledOnce();
  expect(handler).not.toHaveBeenCalled();
});

it("a renewal that is refused because of the completion does not abort a successful handler's signal", async () => {
  const renewal = deferred<boolean>();
  const completion = deferred();
  const store: DeliveryStore = {
    ...memoryStore(),
    renew: () => renewal.promise,
    complete: () => completion.promise,
  };
  const { handler, start } = heldHandler();
  const run = await start(alarmReceiver(handler, { store }), await delivery());
  const { signal } = run.context;
  await vi.advanceTimersByTimeAsync(10_000);
  run.resolve();
  await vi.advanceTimersByTimeAsync(0);
  renewal.resolve(false);
  await vi.advanceTimersByTimeAsync(0);
  completion.resolve();
  expect(await run.answer).toMatchObject({ outcome: "handled" });
  expect(signal.aborted).toBe(false);
});

describe("invalid claim results", () => {
  it("a claim result without takeover counts as no takeover", async () => {
    const claim = () => ({ state: "claimed" }) as ClaimResult;
    const { run, reports } = await heldRun({ store: { ...memoryStore(), claim } });
    expect(run.context.takeover).toBe(false);
    await run.succeed();
    expect(reports[0]).not.toHaveProperty("takeover");
  });

  it.each<[object, string]>([
    [{ state: "completed", then: 5 }, "duplicate"],
    [{ state: "in_flight", retryAfterMs: 5_000, then: undefined }, "in_flight"],
  ])("other members of the claim result %j have no effect", async (result, outcome) => {
    const store = { ...memoryStore(), claim: () => result as ClaimResult };
    const receiver = alarmReceiver(() => undefined, { store });
    expect((await receiver.receive(await delivery())).outcome).toBe(outcome);
  });

  const unreadable = (member: string) =>
    Object.defineProperty({ state: "in_flight" }, member, { get: throws }) as ClaimResult;

  it.each<[string, () => ClaimResult | Promise<ClaimResult>]>([
    ["whose retryAfterMs cannot be read", () => unreadable("retryAfterMs")],
    ["whose state cannot be read", () => unreadable("state")],
    ["that is promised and cannot be read", () => Promise.resolve(unreadable("state"))],
  ])("a claim result %s is answered as store_unavailable", async (_what, claim) => {
    const receiver = alarmReceiver(() => undefined, { store: { ...memoryStore(), claim } });
    const answer = await receiver.receive(await delivery());
    expect(answer).toMatchObject({ status: 503, outcome: "store_unavailable" });
  });

  it("an unreadable claim result that arrives late has no effect", async () => {
    const late = deferred<ClaimResult>();
    const store = { ...memoryStore(), claim: () => late.promise };
    const receiver = alarmReceiver(() => undefined, { store });
    const { answer } = await receiveUntil(store, "claim", receiver);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await answer).toMatchObject({ status: 503, outcome: "store_unavailable" });
    late.resolve(unreadable("state"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(vi.getTimerCount()).toBe(0);
  });
});

it("a report of an unsigned delivery has no secretIndex", async () => {
  const { receiver, reports } = trustingReceiver();
  await receiver.receive(await delivery());
  expect(reports[0]).toMatchObject({ outcome: "handled" });
  expect(reports[0]).not.toHaveProperty("secretIndex");
});

it("a claim whose answer is read after its lease has ended, because the process was frozen, runs no handler", async () => {
  const answered = deferred<ClaimResult>();
  const spy = spiedStore({ claim: () => answered.promise });
  const { receiver, runs } = heldReceiver({ store: spy.store });
  const { answer } = await receiveUntil(spy.store, "claim", receiver);
  const thawedAt = performance.now() + 30_000;
  const clock = vi.spyOn(performance, "now").mockReturnValue(thawedAt);
  answered.resolve({ state: "claimed", takeover: false });
  expect(await answer).toMatchObject({ status: 503, outcome: "store_unavailable" });
  clock.mockRestore();
  expect(runs).toHaveLength(0);
  expect(spy.count("release")).toBe(1);
});
