import { beforeEach, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import {
  HANDLED,
  answerOf,
  heldReceiver,
  heldRun,
  observedAlarmReceiver,
  send,
} from "../support/alarm-receiver.js";
import { deferred, never, watched } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import { rejects, throws } from "../support/faults.js";
import {
  claimedElsewhere,
  failingStore,
  receiveUntil,
  spiedStore,
} from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

const DRAINING = "503 draining";
const IDLE = { idle: true, running: 0 };

it("drain resolves if nothing is running or all has settled, any number of times", async () => {
  const { receiver, send } = observedAlarmReceiver();
  await send();
  expect(await receiver.drain()).toEqual(IDLE);
  expect(await Promise.all([receiver.drain(), receiver.drain()])).toEqual([IDLE, IDLE]);
});

it("drain makes new deliveries 503 before anything is read from them", async () => {
  const { store, calls } = spiedStore();
  const { receiver, lines, reports, runs } = observedAlarmReceiver(undefined, { store });
  await receiver.drain();
  for (const request of [await delivery(), { headers: {}, body: "forged" }]) {
    expect(await send(receiver, request)).toBe(DRAINING);
  }
  expect([runs, calls, lines]).toEqual([[], [], []]);
  const report = ["draining", undefined, 0];
  expect(reports.map(({ outcome, id, bytes }) => [outcome, id, bytes])).toEqual([report, report]);
});

it("drain makes probes 503, so that a load balancer sends its traffic elsewhere", async () => {
  const { receiver, send } = observedAlarmReceiver();
  const probe = (method: string) => send({ method, headers: {}, body: "" });
  expect(await probe("GET")).toBe("200 reachable");
  await receiver.drain();
  for (const method of ["GET", "HEAD", "OPTIONS"]) expect(await probe(method)).toBe(DRAINING);
  expect(await probe("PUT")).toBe("405 method_not_allowed");
});

it("drain refuses deliveries at once and resolves when the running handler has ended", async () => {
  const { receiver, repeated, run } = await heldRun();
  const drained = watched(receiver.drain());
  const again = watched(receiver.drain());
  expect(await send(receiver, repeated)).toBe(DRAINING);
  await pass(10_000);
  expect([drained.state.isResolved, again.state.isResolved]).toEqual([false, false]);
  run.resolve();
  await Promise.all([drained.done, again.done]);
  expect(await answerOf(run.answer)).toBe(HANDLED);
});

it("drain waits for a request that arrived before it, at any step", async () => {
  const claimed = deferred();
  const inner = memoryStore();
  const claim: DeliveryStore["claim"] = async (...call) => {
    await claimed.promise;
    return inner.claim(...call);
  };
  const store = { ...inner, claim };
  const { receiver } = observedAlarmReceiver(undefined, { store });
  const { answer: first } = await receiveUntil(store, "claim", receiver);
  const { state, done } = watched(receiver.drain());
  await pass(1_000);
  expect(state.isResolved).toBe(false);
  claimed.resolve();
  await done;
  expect(await answerOf(first)).toBe(HANDLED);
});

it.each(["succeeds", "fails"])("drain waits for a late handler that %s", async (how) => {
  const spy = spiedStore();
  const limits = { handlerTimeoutMs: 1_000, handlerMaxMs: 7_200_000 };
  const { receiver, run } = await heldRun({ store: spy.store, ...limits });
  await pass(1_000);
  expect(await answerOf(run.answer)).toBe("503 handler_timeout");
  const { state, done } = watched(receiver.drain());
  await pass(3_600_000);
  expect(state.isResolved).toBe(false);
  if (how === "succeeds") run.resolve();
  else run.reject(new Error("late failure"));
  await done;
  expect(spy.count("complete")).toBe(how === "succeeds" ? 1 : 0);
  expect(spy.count("release")).toBe(how === "succeeds" ? 0 : 1);
  expect(vi.getTimerCount()).toBe(0);
});

it.each([
  ["all", ["one", "two"], 4],
  ["all but an earlier one", ["poison", "one", "two"], undefined],
])(
  "drain tries pending completions once more, of which the store accepts %s",
  async (_what, ids, completions) => {
    const { store, inner, count, comeBack } = failingStore("complete");
    const { receiver, send } = observedAlarmReceiver(undefined, { store });
    for (const id of ids) await send(id);
    comeBack();
    await receiver.drain();
    expect(await claimedElsewhere(inner, ["one", "two"])).toEqual(["completed", "completed"]);
    if (completions === undefined) return;
    // The timer of the retry finds nothing left to do.
    await pass(600_000);
    expect(count("complete")).toBe(completions);
    expect(vi.getTimerCount()).toBe(0);
  },
);

it.each<[string, () => Promise<void>]>([
  ["throws", throws],
  ["rejects", rejects],
  ["hangs", never<void>],
])("drain neither rejects nor hangs if the store %s for good", async (_how, complete) => {
  const { receiver, run } = await heldRun({ store: { ...memoryStore(), complete } });
  run.resolve();
  const { state, done } = watched(receiver.drain());
  await pass(10_000);
  expect(state.isResolved).toBe(true);
  await done;
});

it("drain waits at most dependencyTimeoutMs for a store that does not answer", async () => {
  const { store, count } = spiedStore({ complete: never<undefined> });
  const { receiver, send } = observedAlarmReceiver(undefined, { store, dependencyTimeoutMs: 100 });
  const answers = ["one", "two", "three"].map(send);
  await vi.waitUntil(() => count("complete") === 3);
  await pass(100);
  await Promise.all(answers);
  const { state, done } = watched(receiver.drain());
  await pass(99);
  expect(state.isResolved).toBe(false);
  await pass(1);
  await done;
});

it("drain({ timeoutMs }) resolves after its time with the number of running deliveries", async () => {
  const { receiver, start } = heldReceiver();
  const one = await start(await delivery({ id: "one" }));
  const two = await start(await delivery({ id: "two" }));
  const drained = receiver.drain({ timeoutMs: 5_000 });
  await pass(4_999);
  one.resolve();
  await pass(1);
  expect(await drained).toEqual({ idle: false, running: 1 });
  const again = receiver.drain({ timeoutMs: 60_000 });
  two.resolve();
  expect(await again).toEqual(IDLE);
  expect(vi.getTimerCount()).toBe(0);
});

it("drain({ timeoutMs }) stays within its time if the store does not answer completions", async () => {
  const store = { ...memoryStore(), complete: () => never<undefined>() };
  const { receiver } = observedAlarmReceiver(undefined, { store, dependencyTimeoutMs: 1_000 });
  const { answer } = await receiveUntil(store, "complete", receiver);
  await pass(1_000);
  expect(await answerOf(answer)).toBe(HANDLED);
  const { state } = watched(receiver.drain({ timeoutMs: 300 }));
  await pass(299);
  expect(state.isResolved).toBe(false);
  await pass(1);
  expect(state.isResolved).toBe(true);
});

it("drain({ timeoutMs }) completes handled deliveries even if one handler hangs until the time ends", async () => {
  const inner = memoryStore();
  let isDown = true;
  const complete: typeof inner.complete = async (...call) => {
    if (isDown) throw new Error("down");
    await new Promise((resolve) => setTimeout(resolve, 50));
    void inner.complete(...call);
  };
  const { receiver, start } = heldReceiver({ store: { ...inner, complete } });
  for (const id of ["one", "two", "three"]) {
    await (await start(await delivery({ id }))).succeed();
  }
  await start(await delivery({ id: "hangs" }));
  isDown = false;
  const drained = receiver.drain({ timeoutMs: 500 });
  await pass(500);
  expect(await drained).toEqual({ idle: false, running: 1 });
  const states = new Set(await claimedElsewhere(inner, ["one", "two", "three"]));
  expect(states).toEqual(new Set(["completed"]));
});

it.each<[string, unknown]>([
  ["no number", { timeoutMs: "soon" }],
  ["not a number", { timeoutMs: Number.NaN }],
  ["Infinity", { timeoutMs: Number.POSITIVE_INFINITY }],
  ["longer than a timer", { timeoutMs: 2 ** 31 }],
  ["null", null],
])("drain waits for all deliveries if timeoutMs is %s", async (_what, options) => {
  const { receiver, run } = await heldRun();
  const { state } = watched(receiver.drain(options as object));
  await pass(19_000);
  expect(state.isResolved).toBe(false);
  run.resolve();
  await pass(0);
  expect(state.isResolved).toBe(true);
});

it.each([0, -1])("drain does not wait if timeoutMs is %s", async (timeoutMs) => {
  const { receiver, run } = await heldRun();
  const drained = receiver.drain({ timeoutMs });
  await pass(1);
  expect(await drained).toEqual({ idle: false, running: 1 });
  await run.succeed();
});
