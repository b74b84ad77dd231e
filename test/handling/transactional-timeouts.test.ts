import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DeliveryStore } from "../../src/index.js";
import {
  DUPLICATE,
  HANDLED,
  IN_FLIGHT,
  UNAVAILABLE,
  answerOf,
  heldHandler,
  heldReceiver,
  heldRun,
  send,
} from "../support/alarm-receiver.js";
import { deferred, never, watched } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import { DOWN } from "../support/faults.js";
import {
  transactionalScene,
  writesId,
  type DatabaseFaults,
  type SimulatedContext,
} from "../support/transactional/transactional-database.js";

beforeEach(() => vi.useFakeTimers());

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
});

/** A receiver on a database of its own, with a handler that writes its id and then runs until the test ends it. */
function heldScene(faults: DatabaseFaults = {}) {
  const { handler, start, runs } = heldHandler();
  const held = (context: SimulatedContext) => {
    writesId(context);
    return handler(context);
  };
  const times = { handlerTimeoutMs: 2_000, dependencyTimeoutMs: 500 };
  return { ...transactionalScene(held, faults, times), start, runs };
}

describe("transactions that do not begin", () => {
  /** A delivery whose transaction waits for this connection. */
  async function connecting(connection: Promise<void>) {
    const asked = deferred();
    const faults: DatabaseFaults = {
      connect() {
        asked.resolve();
        return connection;
      },
    };
    const scene = heldScene(faults);
    const repeated = await delivery({ id: "one" });
    const answer = scene.receiver.receive(repeated);
    await asked.promise;
    return { ...scene, faults, repeated, answer };
  }

  it("a transaction that does not begin is 503 after dependencyTimeoutMs, and its handler never runs", async () => {
    const connection = deferred();
    const scene = await connecting(connection.promise);
    const { receiver, runs, reports, effects, remembered, repeated } = scene;
    await pass(499);
    expect(reports).toEqual([]);
    expect(await send(receiver, repeated)).toBe(IN_FLIGHT);
    await pass(1);
    expect(await answerOf(scene.answer)).toBe(UNAVAILABLE);
    const message = "store.process took longer than 500 ms";
    expect(reports.at(-1)?.error).toMatchObject({ name: "DeadlineError", message });
    connection.resolve();
    await pass(0);
    expect([runs, effects, remembered.size]).toEqual([[], [], 0]);
    scene.faults.connect = undefined;
    expect(await answerOf((await scene.start(receiver, repeated)).succeed())).toBe(HANDLED);
  });

  it("a transaction that does not begin keeps out no redelivery, and drain does not wait for it", async () => {
    const { receiver, start, faults, repeated, answer } = await connecting(never());
    await pass(500);
    expect(await answerOf(answer)).toBe(UNAVAILABLE);
    faults.connect = undefined;
    expect(await answerOf((await start(receiver, repeated)).succeed())).toBe(HANDLED);
    await receiver.drain();
  });
});

describe("transactions that do not end", () => {
  it("a transaction that does not end is 503 after dependencyTimeoutMs and may still be committed", async () => {
    const commit = deferred();
    const { receiver, start, reports, effects } = heldScene({ commit: () => commit.promise });
    const repeated = await delivery({ id: "one" });
    const run = await start(receiver, repeated);
    await pass(1_000);
    run.resolve();
    await pass(499);
    expect(reports).toEqual([]);
    expect(await send(receiver, repeated)).toBe(IN_FLIGHT);
    await pass(1);
    expect(await answerOf(run.answer)).toBe(UNAVAILABLE);
    expect(run.context.signal.aborted).toBe(false);
    // From now on the store decides: it has the row locked.
    expect(await send(receiver, repeated)).toBe(IN_FLIGHT);
    commit.resolve();
    await pass(0);
    expect(await send(receiver, repeated)).toBe(DUPLICATE);
    expect(effects).toEqual(["one"]);
  });

  it("the time limit of COMMIT begins when the handler ends and does not include the handler's time", async () => {
    const { receiver, start } = heldScene({ commit: () => new Promise((r) => setTimeout(r, 499)) });
    const run = await start(receiver, await delivery());
    await pass(1_999);
    run.resolve();
    await pass(499);
    expect(await answerOf(run.answer)).toBe(HANDLED);
  });
});

it("a redelivery during a transaction is 409 without a transaction of its own", async () => {
  const { receiver, start, calls } = heldScene();
  const repeated = await delivery({ id: "one" });
  const run = await start(receiver, repeated);
  const response = await receiver.receive(repeated);
  expect(await answerOf(response)).toBe(IN_FLIGHT);
  expect(response.headers["retry-after"]).toBe("10");
  expect(calls).toEqual(["one"]);
  const other = await start(receiver, await delivery({ id: "two" }));
  run.resolve();
  expect(await answerOf(other.succeed())).toBe(HANDLED);
  expect(await answerOf(run.answer)).toBe(HANDLED);
});

it("a lost transaction keeps redeliveries out and drain waiting until the handler has ended", async () => {
  const cut = deferred<never>();
  let calls = 0;
  const process = (_key: string, work: (tx: string) => Promise<void>) => {
    calls += 1;
    void work("tx");
    return cut.promise;
  };
  const { receiver, run, runs, send } = await heldRun({
    store: { process } as object as DeliveryStore,
  });
  cut.reject(DOWN);
  await pass(0);
  expect(run.context.signal.aborted).toBe(true);
  expect(await send()).toBe(IN_FLIGHT);
  const { state, done } = watched(receiver.drain());
  await pass(0);
  expect(state.isResolved).toBe(false);
  expect(await answerOf(run.succeed())).toBe(UNAVAILABLE);
  await done;
  expect([calls, runs.length]).toEqual([1, 1]);
});

it("drain waits for transactions, also for those that were already answered 503", async () => {
  const commit = deferred();
  const { receiver, start, effects } = heldScene({ commit: () => commit.promise });
  const run = await start(receiver, await delivery({ id: "one" }));
  await pass(2_000);
  expect(await answerOf(run.answer)).toBe("503 handler_timeout");
  const { state, done } = watched(receiver.drain());
  await pass(60_000);
  expect(state.isResolved).toBe(false);
  run.resolve();
  await pass(499);
  expect(state.isResolved).toBe(false);
  commit.resolve();
  await done;
  expect(effects).toEqual(["one"]);
});

it("drain does not wait for a COMMIT that hangs", async () => {
  const { receiver, start } = heldScene({ commit: never });
  const run = await start(receiver, await delivery());
  run.resolve();
  const draining = receiver.drain();
  await pass(500);
  await draining;
  expect(await answerOf(run.answer)).toBe(UNAVAILABLE);
});

describe("transactional runs on a store that locks nothing: it runs whatever reaches it", () => {
  const LEASE_MS = 3_000;
  /** A run counts as ended when its timers are later than this. */
  const OVERDUE_MS = LEASE_MS / 3 + 2 * LEASE_MS;

  function scene() {
    const calls: string[] = [];
    const process = async (key: string, work: (tx: string) => Promise<void>) => {
      calls.push(key);
      await work("tx");
      return { state: "processed" };
    };
    const store = { process } as object as DeliveryStore;
    return { calls, ...heldReceiver({ store, leaseMs: LEASE_MS }) };
  }

  it("a transactional run whose timers stopped is in flight for two leases", async () => {
    const { calls, start, send } = scene();
    await start();
    // As a runtime that ends a request with its answer: none of its timers fires any more.
    vi.clearAllTimers();
    await pass(OVERDUE_MS);
    expect(await send()).toBe(IN_FLIGHT);
    expect(calls).toHaveLength(1);
    await pass(1);
    const second = await start();
    expect(calls).toHaveLength(2);
    expect(await answerOf(second.succeed())).toBe(HANDLED);
  });

  it("a transactional run that settles after its successor began leaves the successor in flight", async () => {
    const { calls, start, send } = scene();
    const first = await start();
    vi.clearAllTimers();
    await pass(OVERDUE_MS + 1);
    const second = await start();
    await first.fail(new Error("thawed, and too late"));
    expect(await send()).toBe(IN_FLIGHT);
    expect(calls).toHaveLength(2);
    expect(await answerOf(second.succeed())).toBe(HANDLED);
  });

  it("a transactional run whose timers go on is in flight, and the store is not asked", async () => {
    const { calls, start, send } = scene();
    const run = await start();
    for (let leases = 0; leases < 10; leases++) {
      await pass(LEASE_MS);
      expect(await send()).toBe(IN_FLIGHT);
    }
    expect(calls).toHaveLength(1);
    run.resolve();
    await pass(0);
  });
});
