import { beforeEach, describe, expect, it, vi } from "vitest";
import { ConfigurationError, type TransactionalStore } from "../../src/index.js";
import {
  alarmReceiver,
  heldReceiver,
  heldRun,
  observedAlarmReceiver,
} from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { deferred, never } from "../support/deferred.js";
import { delivery, NO_TIME_TO_WAIT } from "../support/deliveries.js";
import { spiedStore } from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

const TIMES = { handlerTimeoutMs: 1_000, handlerMaxMs: 10_000, leaseMs: 3_000 };

describe("handlers that never settle", () => {
  it("a handler is given up after handlerMaxMs, and the next attempt after the lease takes over", async () => {
    const { receiver, run: first, runs, start, reports } = await heldRun({ ...TIMES });
    await vi.advanceTimersByTimeAsync(9_999);
    expect(await first.answer).toMatchObject({ outcome: "handler_timeout" });
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "in_flight" });
    // Not released: the lease of the last renewal still holds.
    await vi.advanceTimersByTimeAsync(1);
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "in_flight" });
    await vi.advanceTimersByTimeAsync(3_000);
    const second = await start();
    expect(second.context.takeover).toBe(true);
    expect(await second.succeed()).toMatchObject({ status: 200, outcome: "handled" });
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "duplicate" });
    expect(runs).toHaveLength(2);
    expect(reports.filter(({ late }) => late)).toMatchObject([
      { outcome: "handler_failed", status: 503, late: true, error: { name: "DeadlineError" } },
    ]);
  });

  it("drain waits for a hanging handler until handlerMaxMs and leaves no timer", async () => {
    const { receiver, run } = await heldRun(TIMES);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await run.answer).toMatchObject({ outcome: "handler_timeout" });
    const drained = receiver.drain();
    await vi.advanceTimersByTimeAsync(9_000);
    expect(await drained).toEqual({ idle: true, running: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a handler that is given up releases its place in maxConcurrentDeliveries", async () => {
    const { receiver, start } = heldReceiver({ ...TIMES, maxConcurrentDeliveries: 1 });
    await start();
    await vi.advanceTimersByTimeAsync(9_999);
    const other = await delivery({ id: "another" });
    const refused = await receiver.receive({ ...other, ...NO_TIME_TO_WAIT });
    expect(refused).toMatchObject({ outcome: "overloaded" });
    await vi.advanceTimersByTimeAsync(1);
    const run = await start(other);
    expect(await run.succeed()).toMatchObject({ outcome: "handled" });
  });

  it("a handler that succeeds after it was given up is completed, and a log line says it may have run twice", async () => {
    const spy = spiedStore();
    const { receiver, run, lines, reports } = await heldRun({ ...TIMES, store: spy.store });
    await vi.advanceTimersByTimeAsync(20_000);
    run.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(spy.count("complete")).toBe(1);
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "duplicate" });
    const { id, type } = run.context;
    expect(linesWith(lines, "handled, but after it was given up")).toMatchObject([
      { details: { id, type } },
    ]);
    expect(reports.filter(({ late }) => late)).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a handler that rejects as soon as it is given up releases its lease, and the line says that it has stopped", async () => {
    const { receiver, run: first, lines, start } = await heldRun(TIMES);
    await vi.advanceTimersByTimeAsync(10_000);
    await first.answer;
    first.reject(first.context.signal.reason);
    await vi.advanceTimersByTimeAsync(0);
    expect(linesWith(lines, "it may have run twice")).toEqual([]);
    const line = "handler_failed, but after it was given up: it has stopped";
    expect(linesWith(lines, line)).toHaveLength(1);
    const second = await start();
    expect(second.context.takeover).toBe(false);
    await second.succeed();
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "duplicate" });
  });

  it("where a lease is taken over while the first run is at work, the lines of both say that it may have run twice", async () => {
    const { run: first, lines, start } = await heldRun(TIMES);
    await vi.advanceTimersByTimeAsync(13_000);
    const second = await start();
    const { id, type } = first.context;
    expect(linesWith(lines, "taken over: ")).toMatchObject([{ details: { id, type } }]);
    first.resolve();
    await vi.advanceTimersByTimeAsync(0);
    await second.succeed();
    expect(linesWith(lines, "it may have run twice")).toMatchObject([
      { message: expect.stringContaining("taken over") as string },
      { message: expect.stringContaining("handled, but after it was given up") as string },
    ]);
  });

  it("a handler whose lease another process took before its end is said to have run twice", async () => {
    const { store } = spiedStore({ renew: () => Promise.resolve(false) });
    const { run, lines } = await heldRun({ leaseMs: 3_000, store });
    await vi.advanceTimersByTimeAsync(1_500);
    expect(run.context.signal.reason).toMatchObject({ code: "lease_lost" });
    run.resolve();
    await run.answer;
    expect(linesWith(lines, "handled: it may have run twice")).toHaveLength(1);
  });

  it("a handler that fails after it was given up releases only its own lease", async () => {
    const { receiver, run: first, runs, start } = await heldRun(TIMES);
    await vi.advanceTimersByTimeAsync(13_000);
    const second = await start();
    first.reject(new Error("too late"));
    await vi.advanceTimersByTimeAsync(0);
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "in_flight" });
    expect(await second.succeed()).toMatchObject({ outcome: "handled" });
    expect(runs).toHaveLength(2);
  });
});

describe("transactional handlers that never settle", () => {
  it("a transactional handler is given up after handlerMaxMs, the store rolls back and drain resolves", async () => {
    const rolledBack: unknown[] = [];
    const begun = deferred();
    const store: TransactionalStore<object> = {
      async process(_key, work) {
        begun.resolve();
        try {
          await work({});
        } catch (error) {
          rolledBack.push(error);
          throw error;
        }
        return { state: "processed" };
      },
    };
    let runs = 0;
    const held = deferred();
    const { receiver, lines, reports } = observedAlarmReceiver(
      () => ((runs += 1) === 1 ? held.promise : undefined),
      {
        ...TIMES,
        store,
      } as object,
    );
    const answer = receiver.receive(await delivery());
    await begun.promise;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await answer).toMatchObject({ outcome: "handler_timeout" });
    await vi.advanceTimersByTimeAsync(8_999);
    expect(rolledBack).toEqual([]);
    const drained = receiver.drain();
    await vi.advanceTimersByTimeAsync(1);
    expect(rolledBack).toMatchObject([{ name: "DeadlineError" }]);
    expect(await drained).toEqual({ idle: true, running: 0 });
    expect(reports.filter(({ late }) => late)).toMatchObject([{ outcome: "handler_failed" }]);
    expect(vi.getTimerCount()).toBe(0);
    const late = new Error("too late");
    held.reject(late);
    await vi.advanceTimersByTimeAsync(0);
    expect(lines.at(-1)).toMatchObject({
      message: expect.stringContaining(
        "handler_failed, but after it was given up: its transaction",
      ) as string,
      details: { type: "new_alarm", err: late },
    });
  });

  it("the store decides about the next attempt once the handler can no longer be running here", async () => {
    let runs = 0;
    const store: TransactionalStore<object> = {
      // A runtime that has ended the first request: its timers and promises never settle.
      process: async (_key, work) => {
        if ((runs += 1) === 1) return never();
        await work({});
        return { state: "processed" };
      },
    };
    const receiver = alarmReceiver(() => undefined, {
      ...TIMES,
      dependencyTimeoutMs: 100_000,
      store,
    } as object);
    void receiver.receive(await delivery());
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "in_flight" });
    vi.clearAllTimers();
    // clearAllTimers has also set the clock back to 0.
    await vi.advanceTimersByTimeAsync(67_000);
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "in_flight" });
    await vi.advanceTimersByTimeAsync(1);
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "handled" });
  });
});

it("handlerMaxMs below handlerTimeoutMs is refused, and its default is never below", async () => {
  expect(() => alarmReceiver(() => undefined, { handlerMaxMs: 19_999 })).toThrow(
    new ConfigurationError("invalid_option", "handlerMaxMs must be at least handlerTimeoutMs"),
  );
  const { run } = await heldRun({ handlerTimeoutMs: 1_000_000 });
  await vi.advanceTimersByTimeAsync(999_999);
  expect(await run.succeed()).toMatchObject({ outcome: "handled" });
});
