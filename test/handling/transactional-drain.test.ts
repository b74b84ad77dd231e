import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ProcessResult, TransactionalStore } from "../../src/index.js";
import { heldHandler } from "../support/alarm-receiver.js";
import { deferred, never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { DOWN } from "../support/faults.js";
import { transactionalReceiver } from "../support/transactional/transactional-receiver.js";
import { heldTransactionalScene as heldScene } from "../support/transactional/transactional-scene.js";

beforeEach(() => vi.useFakeTimers());

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
});

it("a redelivery during a transaction is 409 without a transaction of its own", async () => {
  const { receiver, start, calls } = heldScene();
  const repeated = await delivery({ id: "one" });
  const run = await start(receiver, repeated);
  const response = await receiver.receive(repeated);
  expect(response).toMatchObject({ status: 409, outcome: "in_flight" });
  expect(response.headers["retry-after"]).toBe("10");
  expect(calls).toEqual(["one"]);
  const other = await start(receiver, await delivery({ id: "two" }));
  run.resolve();
  other.resolve();
  expect(await run.answer).toMatchObject({ outcome: "handled" });
  expect(await other.answer).toMatchObject({ outcome: "handled" });
});

it("a lost transaction keeps redeliveries out and drain waiting until the handler has ended", async () => {
  const { handler, start, runs } = heldHandler();
  const cut = deferred<ProcessResult>();
  let calls = 0;
  const store: TransactionalStore<string> = {
    process(_key, work) {
      calls += 1;
      void work("tx");
      return cut.promise;
    },
  };
  const receiver = transactionalReceiver(store, handler);
  const repeated = await delivery();
  const run = await start(receiver, repeated);
  cut.reject(DOWN);
  await vi.advanceTimersByTimeAsync(0);
  expect(run.context.signal.aborted).toBe(true);
  expect(await receiver.receive(repeated)).toMatchObject({ outcome: "in_flight" });
  let drained = false;
  const draining = receiver.drain().then(() => (drained = true));
  await vi.advanceTimersByTimeAsync(0);
  expect(drained).toBe(false);
  expect(await run.succeed()).toMatchObject({ status: 503, outcome: "store_unavailable" });
  await draining;
  expect([calls, runs.length]).toEqual([1, 1]);
});

describe("drain", () => {
  it("drain waits for transactions, also for those that were already answered 503", async () => {
    const commit = deferred();
    const { receiver, start, effects } = heldScene({ commit: () => commit.promise });
    const run = await start(receiver, await delivery({ id: "one" }));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await run.answer).toMatchObject({ outcome: "handler_timeout" });
    let drained = false;
    const draining = receiver.drain().then(() => (drained = true));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(drained).toBe(false);
    run.resolve();
    await vi.advanceTimersByTimeAsync(499);
    expect(drained).toBe(false);
    commit.resolve();
    await draining;
    expect(effects).toEqual(["one"]);
  });

  it("drain does not wait for a COMMIT that hangs", async () => {
    const { receiver, start } = heldScene({ commit: never });
    const run = await start(receiver, await delivery());
    run.resolve();
    const draining = receiver.drain();
    await vi.advanceTimersByTimeAsync(500);
    await draining;
    expect(await run.answer).toMatchObject({ outcome: "store_unavailable" });
  });
});
