import { beforeEach, expect, it, vi } from "vitest";
import { type ClaimResult, type WebhookRequest } from "../../src/index.js";
import { alarmReceiver, heldRun } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import { throwing } from "../support/faults.js";
import {
  failingStore,
  heldCompletions,
  openWork,
  receiveUntil,
  spiedStore,
} from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

/** A delivery on a platform that keeps running until the given work settles. */
async function heldOpen() {
  const { state, waitUntil } = openWork();
  return { request: { ...(await delivery()), waitUntil }, state };
}

/** Lets a run miss its time limit, and then succeed. */
async function succeedLate({ answer, resolve }: Awaited<ReturnType<typeof heldRun>>["run"]) {
  await pass(1_000);
  expect(await answer).toMatchObject({ outcome: "handler_timeout" });
  resolve();
  await pass(0);
}

it("waitUntil is not called for a delivery whose work ends with the answer", async () => {
  const receiver = alarmReceiver(() => Promise.resolve());
  const { request, state } = await heldOpen();
  await receiver.receive(request);
  await receiver.receive(request);
  await receiver.receive({ ...request, body: "forged" });
  expect(state.given).toBe(0);
});

it("waitUntil receives a late handler before the answer, until its success is stored", async () => {
  const completed = deferred();
  const spy = spiedStore({ complete: () => completed.promise });
  const { request, state } = await heldOpen();
  const { run } = await heldRun({ store: spy.store, handlerTimeoutMs: 1_000 }, request);
  void run.answer.then(() => expect(state.given).toBe(1));
  await succeedLate(run);
  expect(state).toEqual({ given: 1, settled: 0 });
  completed.resolve();
  await pass(0);
  expect(state).toEqual({ given: 1, settled: 1 });
});

it("waitUntil receives a completion that failed, until the store accepts it", async () => {
  const { store, comeBack } = failingStore("complete");
  const receiver = alarmReceiver(() => undefined, { store });
  const { request, state } = await heldOpen();
  expect(await receiver.receive(request)).toMatchObject({ outcome: "handled" });
  expect(state).toEqual({ given: 1, settled: 0 });
  await pass(1_000);
  expect(state.settled).toBe(0);
  comeBack();
  await pass(2_000);
  expect(state.settled).toBe(1);
});

it("waitUntil receives a late claim, until it is released", async () => {
  const slow = deferred<ClaimResult>();
  const spy = spiedStore({ claim: () => slow.promise });
  const receiver = alarmReceiver(() => undefined, { store: spy.store, dependencyTimeoutMs: 100 });
  const { request, state } = await heldOpen();
  const { answer } = await receiveUntil(spy.store, "claim", receiver, request);
  await pass(100);
  expect(await answer).toMatchObject({ outcome: "store_unavailable" });
  expect(state).toEqual({ given: 1, settled: 0 });
  slow.resolve({ state: "claimed", takeover: false });
  await pass(0);
  expect(state.settled).toBe(1);
  expect(spy.count("release")).toBe(1);
});

it("waitUntil receives a late success whose completion failed, until the store accepts it", async () => {
  const { store, ends } = heldCompletions();
  const { request, state } = await heldOpen();
  const { run } = await heldRun({ store, handlerTimeoutMs: 1_000 }, request);
  await succeedLate(run);
  ends[0]?.reject(new Error("down"));
  await pass(1_000);
  expect(state.settled).toBe(0);
  ends[1]?.resolve();
  await pass(0);
  expect(state).toEqual({ given: 1, settled: 1 });
});

it("waitUntil receives a late handler until onOutcome has taken its report", async () => {
  const counted = deferred();
  const { request, state } = await heldOpen();
  const { run } = await heldRun(
    {
      handlerTimeoutMs: 1_000,
      onOutcome: ({ late }) => (late === true ? counted.promise : undefined),
    },
    request,
  );
  await succeedLate(run);
  expect(state).toEqual({ given: 1, settled: 0 });
  counted.resolve();
  await pass(0);
  expect(state).toEqual({ given: 1, settled: 1 });
});

it.each([
  ["a handler ends", true],
  ["the store takes a slow completion", false],
])("waitUntil receives the renewal that is on its way when %s", async (_when, isSlowHandler) => {
  const [renewed, ended] = [deferred<boolean>(), deferred()];
  const { store } = spiedStore({
    renew: () => renewed.promise,
    complete: () => (isSlowHandler ? undefined : ended.promise),
  });
  const times = { leaseMs: 30_000, dependencyTimeoutMs: 20_000 };
  const handler = () => (isSlowHandler ? ended.promise : undefined);
  const receiver = alarmReceiver(handler, { store, ...times });
  const { request, state } = await heldOpen();
  const { answer } = await receiveUntil(store, "claim", receiver, request);
  await pass(10_000);
  ended.resolve();
  expect(await answer).toMatchObject({ outcome: "handled" });
  expect(state).toEqual({ given: 1, settled: 0 });
  renewed.resolve(true);
  await pass(0);
  expect(state.settled).toBe(1);
});

it("waitUntil is not called for a handler that ends between two renewals", async () => {
  const spy = spiedStore();
  const { request, state } = await heldOpen();
  const { run } = await heldRun({ store: spy.store, leaseMs: 30_000 }, request);
  await pass(15_000);
  expect(spy.count("renew")).toBe(1);
  expect(await run.succeed()).toMatchObject({ outcome: "handled" });
  expect(state.given).toBe(0);
});

it("waitUntil receives the promises of onOutcome and onAuthenticDelivery", async () => {
  const audited = deferred();
  const counted = deferred();
  const receiver = alarmReceiver(() => undefined, {
    onOutcome: () => counted.promise,
    onAuthenticDelivery: () => audited.promise,
  });
  const { request, state } = await heldOpen();
  await receiver.receive(request);
  expect(state).toEqual({ given: 2, settled: 0 });
  counted.reject(new Error("metrics are down"));
  audited.resolve();
  await pass(0);
  expect(state.settled).toBe(2);
});

it.each<[string, unknown]>([
  ["throws", throwing(new Error("Illegal invocation"))],
  ["rejects", () => Promise.reject(new Error("no context"))],
  ["is no function", 5],
])("a waitUntil that %s changes nothing", async (_how, waitUntil) => {
  const request = { ...(await delivery()), waitUntil: waitUntil as WebhookRequest["waitUntil"] };
  const { receiver, run } = await heldRun({ handlerTimeoutMs: 1_000 }, request);
  await succeedLate(run);
  expect(await receiver.receive(request)).toMatchObject({ outcome: "duplicate" });
});

it("a waitUntil that is an accessor is read once", async () => {
  let reads = 0;
  const receiver = alarmReceiver(() => undefined, { onOutcome: () => Promise.resolve() });
  const { request, state } = await heldOpen();
  const { waitUntil } = request;
  Object.defineProperty(request, "waitUntil", {
    get() {
      reads += 1;
      return waitUntil;
    },
  });
  expect(await receiver.receive(request)).toMatchObject({ outcome: "handled" });
  expect(reads).toBe(1);
  expect(state.given).toBe(1);
});

it("a waitUntil that cannot be read is an internal error and does not reject receive", async () => {
  const request = Object.defineProperty(await delivery(), "waitUntil", {
    get: throwing(new Error("revoked")),
  });
  expect(await alarmReceiver(() => undefined).receive(request)).toMatchObject({ status: 500 });
});
