import { beforeEach, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import {
  alarmReceiver,
  heldReceiver,
  heldRun,
  observedAlarmReceiver,
} from "../support/alarm-receiver.js";
import { deferred, never, watched } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { rejects, throws } from "../support/faults.js";
import {
  claimedElsewhere,
  failingStore,
  receiveUntil,
  spiedStore,
} from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

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
  const { store, calls } = spiedStore();
  const { receiver, lines, reports } = observedAlarmReceiver(() => (runs += 1), { store });
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
  expect(calls).toEqual([]);
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
  for (const method of ["GET", "HEAD", "OPTIONS"]) {
    expect(await probe(method)).toMatchObject({ status: 503, outcome: "draining" });
  }
  expect(await probe("PUT")).toMatchObject({ status: 405, outcome: "method_not_allowed" });
});

it("drain refuses deliveries at once and resolves when the running handler has ended", async () => {
  const { receiver, repeated, run } = await heldRun();
  const drained = watched(receiver.drain());
  const again = watched(receiver.drain());
  expect(await receiver.receive(repeated)).toMatchObject({ outcome: "draining" });
  await vi.advanceTimersByTimeAsync(10_000);
  expect([drained.state.isResolved, again.state.isResolved]).toEqual([false, false]);
  run.resolve();
  await Promise.all([drained.done, again.done]);
  expect(await run.answer).toMatchObject({ status: 200, outcome: "handled" });
});

it("drain waits for each of several handlers", async () => {
  const { receiver, start } = heldReceiver();
  const first = await start(await delivery({ id: "one" }));
  const second = await start(await delivery({ id: "two" }));
  const { state, done } = watched(receiver.drain());
  first.resolve();
  await vi.advanceTimersByTimeAsync(1);
  expect(state.isResolved).toBe(false);
  second.reject(new Error("failed"));
  await done;
});

it("drain waits for a request that arrived before it, at any step", async () => {
  const claimed = deferred();
  const inner = memoryStore();
  const claim: DeliveryStore["claim"] = (...call) =>
    claimed.promise.then(() => inner.claim(...call));
  const store = { ...inner, claim };
  const receiver = alarmReceiver(() => undefined, { store });
  const { answer: first } = await receiveUntil(store, "claim", receiver);
  const { state, done } = watched(receiver.drain());
  await vi.advanceTimersByTimeAsync(1_000);
  expect(state.isResolved).toBe(false);
  claimed.resolve();
  await done;
  expect(await first).toMatchObject({ outcome: "handled" });
});

it.each(["succeeds", "fails"])("drain waits for a late handler that %s", async (how) => {
  const spy = spiedStore();
  const { receiver, run } = await heldRun({
    store: spy.store,
    handlerTimeoutMs: 1_000,
    handlerMaxMs: 7_200_000,
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await run.answer).toMatchObject({ outcome: "handler_timeout" });
  const { state, done } = watched(receiver.drain());
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(state.isResolved).toBe(false);
  if (how === "succeeds") run.resolve();
  else run.reject(new Error("late failure"));
  await done;
  expect(spy.count("complete")).toBe(how === "succeeds" ? 1 : 0);
  expect(spy.count("release")).toBe(how === "succeeds" ? 0 : 1);
  expect(vi.getTimerCount()).toBe(0);
});

it("drain tries pending completions once more", async () => {
  const { store, inner, count, comeBack } = failingStore("complete");
  const receiver = alarmReceiver(() => undefined, { store });
  for (const id of ["one", "two"]) await receiver.receive(await delivery({ id }));
  comeBack();
  await receiver.drain();
  const states = await claimedElsewhere(inner, ["one", "two"]);
  expect(states).toEqual(["completed", "completed"]);
  // The timer of the retry finds nothing left to do.
  await vi.advanceTimersByTimeAsync(600_000);
  expect(count("complete")).toBe(4);
  expect(vi.getTimerCount()).toBe(0);
});

it.each<[string, () => Promise<void>]>([
  ["throws", throws],
  ["rejects", rejects],
  ["hangs", never<void>],
])("drain neither rejects nor hangs if the store %s for good", async (_how, complete) => {
  const { receiver, run } = await heldRun({ store: { ...memoryStore(), complete } });
  run.resolve();
  const { state, done } = watched(receiver.drain());
  await vi.advanceTimersByTimeAsync(10_000);
  expect(state.isResolved).toBe(true);
  await done;
});

it("drain completes each delivery that the store accepts, even if the store refuses an earlier one", async () => {
  const { store, inner, comeBack } = failingStore("complete");
  const receiver = alarmReceiver(() => undefined, { store });
  for (const id of ["poison", "one", "two"]) await receiver.receive(await delivery({ id }));
  comeBack();
  await receiver.drain();
  const states = await claimedElsewhere(inner, ["one", "two"]);
  expect(states).toEqual(["completed", "completed"]);
});

it("drain waits at most dependencyTimeoutMs for a store that does not answer", async () => {
  const { store, count } = spiedStore({ complete: never<undefined> });
  const receiver = alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 100 });
  const answers = ["one", "two", "three"].map(async (id) =>
    receiver.receive(await delivery({ id })),
  );
  await vi.waitUntil(() => count("complete") === 3);
  await vi.advanceTimersByTimeAsync(100);
  await Promise.all(answers);
  const { state, done } = watched(receiver.drain());
  await vi.advanceTimersByTimeAsync(99);
  expect(state.isResolved).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await done;
});
