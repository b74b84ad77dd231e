import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DiscardDelivery, RetryLater } from "../../src/index.js";
import { linesWith } from "../support/collector.js";
import { deferred, never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { rejects } from "../support/faults.js";
import type { DatabaseFaults } from "../support/transactional/transactional-database.js";
import { heldTransactionalScene as heldScene } from "../support/transactional/transactional-scene.js";

beforeEach(() => vi.useFakeTimers());

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
});

describe("late transactional handlers", () => {
  async function timedOut(faults: DatabaseFaults = {}) {
    const scene = heldScene(faults);
    const repeated = await delivery({ id: "one" });
    const run = await scene.start(scene.receiver, repeated);
    const { signal } = run.context;
    await vi.advanceTimersByTimeAsync(1_999);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await run.answer).toMatchObject({ status: 503, outcome: "handler_timeout" });
    expect((await run.answer).headers["retry-after"]).toBe("30");
    expect(signal.reason).toMatchObject({ message: "the handler took longer than 2000 ms" });
    expect(await scene.receiver.receive(repeated)).toMatchObject({ outcome: "in_flight" });
    return { ...scene, repeated, run };
  }

  it("a late transactional handler that succeeds is committed, and the redelivery is a 200 duplicate", async () => {
    const { receiver, repeated, run, effects, lines } = await timedOut();
    run.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
    expect(effects).toEqual(["one"]);
    expect(lines.at(-1)).toMatchObject({
      level: "warn",
      message: expect.stringContaining("handled, but after handlerTimeoutMs") as string,
      details: { id: "one", type: "new_alarm" },
    });
  });

  it.each([
    ["fails", "handler_failed", "error", new Error("late")],
    ["asks to retry later", "retry_later", "warn", new RetryLater()],
  ])("a late transactional handler that %s is rolled back", async (_how, outcome, level, error) => {
    const { receiver, repeated, run, start, effects, lines } = await timedOut();
    run.reject(error);
    await vi.advanceTimersByTimeAsync(0);
    expect(lines.at(-1)).toMatchObject({ level, details: { err: error } });
    expect(lines.at(-1)?.message).toContain(`${outcome}, but after handlerTimeoutMs`);
    const next = await start(receiver, repeated);
    expect(await next.succeed()).toMatchObject({ status: 200, outcome: "handled" });
    expect(effects).toEqual(["one"]);
  });

  it("a late transactional handler that discards is remembered", async () => {
    const { receiver, repeated, run, effects, lines } = await timedOut();
    run.reject(new DiscardDelivery({ reason: "too late to matter" }));
    await vi.advanceTimersByTimeAsync(0);
    expect(linesWith(lines, "discarded, but after handlerTimeoutMs")).toHaveLength(1);
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
    expect(effects).toEqual([]);
  });

  it("a late transactional handler that cannot be committed runs again on a redelivery", async () => {
    const faults: DatabaseFaults = { commit: rejects };
    const { receiver, repeated, run, start, lines } = await timedOut(faults);
    run.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(linesWith(lines, "store_unavailable, but after handlerTimeoutMs")).toMatchObject([
      { level: "error" },
    ]);
    faults.commit = undefined;
    const next = await start(receiver, repeated);
    expect(await next.succeed()).toMatchObject({ outcome: "handled" });
  });
});

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
    const { receiver, runs, reports, effects, remembered, start, ...scene } = await connecting(
      connection.promise,
    );
    const { faults, repeated, answer } = scene;
    await vi.advanceTimersByTimeAsync(499);
    expect(reports).toEqual([]);
    expect(await receiver.receive(repeated)).toMatchObject({ outcome: "in_flight" });
    await vi.advanceTimersByTimeAsync(1);
    expect(await answer).toMatchObject({ status: 503, outcome: "store_unavailable" });
    expect(reports.at(-1)?.error).toMatchObject({
      name: "DeadlineError",
      message: "store.process took longer than 500 ms",
    });
    connection.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(runs).toEqual([]);
    expect(effects).toEqual([]);
    expect(remembered.size).toBe(0);
    faults.connect = undefined;
    const next = await start(receiver, repeated);
    expect(await next.succeed()).toMatchObject({ status: 200, outcome: "handled" });
  });

  it("a transaction that does not begin keeps out no redelivery, and drain does not wait for it", async () => {
    const { receiver, start, faults, repeated, answer } = await connecting(never());
    await vi.advanceTimersByTimeAsync(500);
    expect(await answer).toMatchObject({ outcome: "store_unavailable" });
    faults.connect = undefined;
    const next = await start(receiver, repeated);
    expect(await next.succeed()).toMatchObject({ outcome: "handled" });
    await receiver.drain();
  });
});

describe("transactions that do not end", () => {
  it("a transaction that does not end is 503 after dependencyTimeoutMs and may still be committed", async () => {
    const commit = deferred();
    const { receiver, start, reports, effects } = heldScene({ commit: () => commit.promise });
    const repeated = await delivery({ id: "one" });
    const run = await start(receiver, repeated);
    await vi.advanceTimersByTimeAsync(1_000);
    run.resolve();
    await vi.advanceTimersByTimeAsync(499);
    expect(reports).toEqual([]);
    expect(await receiver.receive(repeated)).toMatchObject({ outcome: "in_flight" });
    await vi.advanceTimersByTimeAsync(1);
    expect(await run.answer).toMatchObject({ status: 503, outcome: "store_unavailable" });
    expect(run.context.signal.aborted).toBe(false);
    // From now on the store decides: it has the row locked.
    expect(await receiver.receive(repeated)).toMatchObject({ outcome: "in_flight" });
    commit.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
    expect(effects).toEqual(["one"]);
  });

  it("the time limit of COMMIT begins when the handler ends and does not include the handler's time", async () => {
    const { receiver, start } = heldScene({ commit: () => new Promise((r) => setTimeout(r, 499)) });
    const run = await start(receiver, await delivery());
    await vi.advanceTimersByTimeAsync(1_999);
    run.resolve();
    await vi.advanceTimersByTimeAsync(499);
    expect(await run.answer).toMatchObject({ status: 200, outcome: "handled" });
  });
});
