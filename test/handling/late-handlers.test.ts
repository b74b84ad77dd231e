import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  ConfigurationError,
  DiscardDelivery,
  memoryStore,
  RetryLater,
  type DeliveryStore,
} from "../../src/index.js";
import {
  DUPLICATE,
  HANDLED,
  IN_FLIGHT,
  alarmReceiver,
  answerOf,
  heldRun,
  observedAlarmReceiver,
} from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { never } from "../support/deferred.js";
import { pass } from "../support/fake-time.js";
import { rejects, throws } from "../support/faults.js";
import { spiedStore } from "../support/spied-store.js";
import {
  createDatabase,
  type DatabaseFaults,
} from "../support/transactional/transactional-database.js";

beforeEach(() => vi.useFakeTimers());

afterEach(() => {
  // Nothing is left to be called.
  expect(vi.getTimerCount()).toBe(0);
});

/** A transactional store, as an option of the receivers that the tests share. */
const transactional = (faults?: DatabaseFaults) =>
  createDatabase(faults).store as object as DeliveryStore;

/** A run that was answered with handler_timeout. `end` ends it. */
async function timedOut(store: DeliveryStore) {
  const scene = await heldRun({ store, handlerTimeoutMs: 2_000, handlerMaxMs: 86_400_000 });
  const { run, send } = scene;
  const { signal } = run.context;
  await pass(1_999);
  expect(signal.aborted).toBe(false);
  await pass(1);
  expect(await answerOf(run.answer)).toBe("503 handler_timeout");
  expect((await run.answer).headers["retry-after"]).toBe("30");
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toMatchObject({ message: "the handler took longer than 2000 ms" });
  expect(await send()).toBe(IN_FLIGHT);
  const end = async (error?: Error) => {
    if (error === undefined) run.resolve();
    else run.reject(error);
    await pass(0);
  };
  return { ...scene, end };
}

describe.each([
  ["a lease store", memoryStore],
  ["a transactional store", transactional],
])("late handlers on %s", (_kind, makeStore) => {
  it.each<[string, string, string, Error | undefined]>([
    ["handled", DUPLICATE, "warn", undefined],
    ["handler_failed", HANDLED, "error", new Error("late failure")],
    ["retry_later", HANDLED, "warn", new RetryLater()],
    ["discarded", DUPLICATE, "warn", new DiscardDelivery({ reason: "too late to matter" })],
  ])(
    "a late handler that is %s has a second report and a line, and its redelivery is %s",
    async (outcome, redelivery, level, error) => {
      const { repeated, reports, lines, end, runs, start, send } = await timedOut(makeStore());
      await pass(3_000);
      await end(error);
      const facts = { id: repeated.headers["x-webhook-id"], type: "new_alarm" };
      expect(reports.filter((report) => report.outcome !== "in_flight")).toMatchObject([
        { outcome: "handler_timeout", status: 503, durationMs: 2_000 },
        { outcome, status: 503, late: true, durationMs: 5_000, secretIndex: 0, ...facts },
      ]);
      expect(reports[0]).not.toHaveProperty("late");
      const details = error === undefined ? facts : { ...facts, err: error };
      expect(lines.at(-1)).toMatchObject({ level, details });
      expect(lines.at(-1)?.message).toContain(`${outcome}, but after handlerTimeoutMs`);
      if (redelivery === DUPLICATE) {
        expect(await send()).toBe(DUPLICATE);
        expect(runs).toHaveLength(1);
        return;
      }
      const next = await start();
      expect(next.context.takeover).toBe(false);
      expect(await answerOf(next.succeed())).toBe(HANDLED);
      expect(runs).toHaveLength(2);
    },
  );

  it("a handler that is late by hours keeps redeliveries out, and none runs it again", async () => {
    const { runs, end, send } = await timedOut(makeStore());
    for (let minute = 0; minute < 180; minute++) {
      await pass(60_000);
      expect(await send()).toBe(IN_FLIGHT);
    }
    await end();
    expect(await send()).toBe(DUPLICATE);
    expect(runs).toHaveLength(1);
  });

  it("a handler that settles in the last millisecond is in time", async () => {
    const { run } = await heldRun({ handlerTimeoutMs: 2_000, store: makeStore() });
    await pass(1_999);
    expect(await answerOf(run.succeed())).toBe(HANDLED);
    expect(run.context.signal.aborted).toBe(false);
  });
});

it("a late transactional handler that cannot be committed runs again on a redelivery", async () => {
  const faults: DatabaseFaults = { commit: rejects };
  const { end, start, lines } = await timedOut(transactional(faults));
  await end();
  expect(linesWith(lines, "store_unavailable, but after handlerTimeoutMs")).toMatchObject([
    { level: "error" },
  ]);
  faults.commit = undefined;
  expect(await answerOf((await start()).succeed())).toBe(HANDLED);
});

const TIMES = { handlerTimeoutMs: 1_000, handlerMaxMs: 10_000, leaseMs: 3_000 };

describe("handlers that never settle", () => {
  it("a handler is given up after handlerMaxMs, and the next attempt after the lease takes over", async () => {
    const { run: first, runs, start, reports, send } = await heldRun(TIMES);
    await pass(9_999);
    expect(await answerOf(first.answer)).toBe("503 handler_timeout");
    expect(await send()).toBe(IN_FLIGHT);
    // Not released: the lease of the last renewal still holds.
    await pass(1);
    expect(await send()).toBe(IN_FLIGHT);
    await pass(3_000);
    const second = await start();
    expect(second.context.takeover).toBe(true);
    expect(await answerOf(second.succeed())).toBe(HANDLED);
    expect(await send()).toBe(DUPLICATE);
    expect(runs).toHaveLength(2);
    expect(reports.filter(({ late }) => late)).toMatchObject([
      { outcome: "handler_failed", status: 503, late: true, error: { name: "DeadlineError" } },
    ]);
  });

  it("drain waits for a hanging handler until handlerMaxMs and leaves no timer", async () => {
    const { receiver, run } = await heldRun(TIMES);
    await pass(1_000);
    expect(await answerOf(run.answer)).toBe("503 handler_timeout");
    const drained = receiver.drain();
    await pass(9_000);
    expect(await drained).toEqual({ idle: true, running: 0 });
  });

  it("a handler that succeeds after it was given up is completed, and a line says so", async () => {
    const { store, count } = spiedStore();
    const { run, lines, reports, send } = await heldRun({ ...TIMES, store });
    await pass(20_000);
    run.resolve();
    await pass(0);
    expect(count("complete")).toBe(1);
    expect(await send()).toBe(DUPLICATE);
    const { id, type } = run.context;
    const said = linesWith(lines, "handled, but after it was given up");
    expect(said).toMatchObject([{ details: { id, type } }]);
    expect(reports.filter(({ late }) => late)).toHaveLength(1);
  });

  it("a handler that rejects when it is given up releases its lease, and the line says that it has stopped", async () => {
    const { run: first, lines, start, send } = await heldRun(TIMES);
    await pass(10_000);
    await first.answer;
    first.reject(first.context.signal.reason);
    await pass(0);
    expect(linesWith(lines, "it may have run twice")).toEqual([]);
    const line = "handler_failed, but after it was given up: it has stopped";
    expect(linesWith(lines, line)).toHaveLength(1);
    const second = await start();
    expect(second.context.takeover).toBe(false);
    await second.succeed();
    expect(await send()).toBe(DUPLICATE);
  });

  it("a takeover beside the first run leaves lines of both that it may have run twice", async () => {
    const { run: first, lines, start } = await heldRun(TIMES);
    await pass(13_000);
    const second = await start();
    const { id, type } = first.context;
    expect(linesWith(lines, "taken over: ")).toMatchObject([{ details: { id, type } }]);
    first.resolve();
    await pass(0);
    await second.succeed();
    expect(linesWith(lines, "it may have run twice")).toMatchObject([
      { message: expect.stringContaining("taken over") as string },
      { message: expect.stringContaining("handled, but after it was given up") as string },
    ]);
  });

  it("a handler whose lease another process took before its end is said to have run twice", async () => {
    const { store } = spiedStore({ renew: () => Promise.resolve(false) });
    const { run, lines } = await heldRun({ leaseMs: 3_000, store });
    await pass(1_500);
    expect(run.context.signal.reason).toMatchObject({ code: "lease_lost" });
    await run.succeed();
    expect(linesWith(lines, "handled: it may have run twice")).toHaveLength(1);
  });

  it("a handler that fails after it was given up releases only its own lease", async () => {
    const { run: first, runs, start, send } = await heldRun(TIMES);
    await pass(13_000);
    const second = await start();
    first.reject(new Error("too late"));
    await pass(0);
    expect(await send()).toBe(IN_FLIGHT);
    expect(await answerOf(second.succeed())).toBe(HANDLED);
    expect(runs).toHaveLength(2);
  });

  it("a transactional handler is given up after handlerMaxMs, the store rolls back and drain resolves", async () => {
    const rolledBack: unknown[] = [];
    const process = async (_key: string, work: (tx: object) => Promise<void>) => {
      await work({}).catch((error: unknown) => {
        rolledBack.push(error);
        throw error;
      });
      return { state: "processed" };
    };
    const store = { process } as object as DeliveryStore;
    const { receiver, run, lines, reports } = await heldRun({ ...TIMES, store });
    await pass(1_000);
    expect(await answerOf(run.answer)).toBe("503 handler_timeout");
    await pass(8_999);
    expect(rolledBack).toEqual([]);
    const drained = receiver.drain();
    await pass(1);
    expect(rolledBack).toMatchObject([{ name: "DeadlineError" }]);
    expect(await drained).toEqual({ idle: true, running: 0 });
    expect(reports.filter(({ late }) => late)).toMatchObject([{ outcome: "handler_failed" }]);
    const late = new Error("too late");
    run.reject(late);
    await pass(0);
    const message = "handler_failed, but after it was given up: its transaction";
    expect(lines.at(-1)?.message).toContain(message);
    expect(lines.at(-1)).toMatchObject({ details: { type: "new_alarm", err: late } });
  });

  it("the store decides about the next attempt once the handler can no longer be running here", async () => {
    let calls = 0;
    // A runtime that has ended the first request: its timers and promises never settle.
    const process = async (_key: string, work: (tx: object) => Promise<void>) => {
      if ((calls += 1) === 1) return never();
      await work({});
      return { state: "processed" };
    };
    const store = { process } as object as DeliveryStore;
    const options = { ...TIMES, dependencyTimeoutMs: 100_000, store };
    const { send } = observedAlarmReceiver(undefined, options);
    void send();
    await pass(60_000);
    expect(await send()).toBe(IN_FLIGHT);
    vi.clearAllTimers();
    // clearAllTimers has also set the clock back to 0.
    await pass(67_000);
    expect(await send()).toBe(IN_FLIGHT);
    await pass(1);
    expect(await send()).toBe(HANDLED);
  });
});

it("handlerMaxMs below handlerTimeoutMs is refused, and its default is never below", async () => {
  expect(() => alarmReceiver(() => undefined, { handlerMaxMs: 19_999 })).toThrow(
    new ConfigurationError("invalid_option", "handlerMaxMs must be at least handlerTimeoutMs"),
  );
  const { run } = await heldRun({ handlerTimeoutMs: 1_000_000 });
  await pass(999_999);
  expect(await answerOf(run.succeed())).toBe(HANDLED);
});

describe("handlers that block the process, while its clock goes on and no timer is called", () => {
  /** A receiver whose handler blocks, on a store that answers at once or by a promise. */
  function blocking(ms: number, isAsync: boolean, returned?: () => unknown) {
    const inner = memoryStore();
    const claim: DeliveryStore["claim"] = async (...call) => inner.claim(...call);
    const handler = () => {
      const later = performance.now() + ms;
      vi.spyOn(performance, "now").mockImplementation(() => later);
      return returned?.();
    };
    const store = isAsync ? { ...inner, claim } : inner;
    return observedAlarmReceiver(handler, { store, leaseMs: 3_000 });
  }

  describe.each([
    ["at once", false],
    ["by a promise", true],
  ])("on a store that answers %s", (_how, isAsync) => {
    it.each<[string, () => unknown, string]>([
      ["no promise", () => undefined, HANDLED],
      ["a promise", () => Promise.resolve(), HANDLED],
      ["an error", throws, "500 handler_failed"],
    ])(
      "a handler that blocks past its lease and ends with %s leaves a line that it may have run twice",
      async (_what, returned, answer) => {
        const { send, lines } = blocking(3_000, isAsync, returned);
        expect(await send("a")).toBe(answer);
        const said = linesWith(lines, `${answer.slice(4)}: it may have run twice`);
        expect(said).toMatchObject([{ level: "warn", details: { id: "a", type: "new_alarm" } }]);
      },
    );

    it("a handler that blocks the process for less than its lease leaves no line", async () => {
      const { send, lines } = blocking(2_999, isAsync);
      expect(await send()).toBe(HANDLED);
      expect(lines).toEqual([]);
    });
  });
});
