import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, describe, expect, it, vi, type MockInstance } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import { alarmReceiver, heldRun } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import { throws } from "../support/faults.js";
import { failingStore, spiedStore } from "../support/spied-store.js";
import { createDatabase } from "../support/transactional/transactional-database.js";

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe("the timers of a running handler", () => {
  beforeEach(() => vi.useFakeTimers());

  it.each([
    { leaseMs: 30_000, handlerTimeoutMs: 20_000 },
    { leaseMs: 30_000, handlerTimeoutMs: 2_000 },
    { leaseMs: 3_000, handlerTimeoutMs: 1_000 },
    { leaseMs: 3_000, handlerTimeoutMs: 7_500 },
  ])(
    "each renewal and the answer come at their millisecond: lease $leaseMs ms, handler $handlerTimeoutMs ms",
    async ({ leaseMs, handlerTimeoutMs }) => {
      const startedAt = performance.now();
      const sinceStart = () => performance.now() - startedAt;
      const renewedAt: number[] = [];
      const store: DeliveryStore = {
        ...memoryStore(),
        renew: () => renewedAt.push(sinceStart()) > 0,
      };
      const { run } = await heldRun({ store, leaseMs, handlerTimeoutMs });
      const answered = run.answer.then(({ outcome }) => ({ outcome, at: sinceStart() }));
      await pass(60_000);
      expect(await answered).toEqual({ outcome: "handler_timeout", at: handlerTimeoutMs });
      const count = (60_000 * 3) / leaseMs;
      expect(renewedAt).toEqual(Array.from({ length: count }, (_, at) => ((at + 1) * leaseMs) / 3));
      run.resolve();
      await pass(0);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it("a handler that is neither late nor due for a renewal has one timer", async () => {
    const { run } = await heldRun({ leaseMs: 30_000, handlerTimeoutMs: 20_000 });
    await pass(9_999);
    expect(vi.getTimerCount()).toBe(1);
    await pass(1);
    expect(vi.getTimerCount()).toBe(2);
    expect(await run.succeed()).toMatchObject({ outcome: "handled" });
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([5_000, 15_000])(
    "a completion that begins %d ms after the claim moves no renewal and adds none",
    async (settledMs) => {
      const taken = deferred();
      const spy = spiedStore({ complete: () => taken.promise });
      const times = { leaseMs: 30_000, dependencyTimeoutMs: 60_000 };
      const { run } = await heldRun({ store: spy.store, ...times });
      await pass(settledMs);
      run.resolve();
      await pass(39_999 - settledMs);
      expect(spy.count("complete")).toBe(1);
      expect(spy.count("renew")).toBe(3);
      await pass(1);
      expect(spy.count("renew")).toBe(4);
      taken.resolve();
      expect(await run.answer).toMatchObject({ outcome: "handled" });
      expect(vi.getTimerCount()).toBe(0);
    },
  );
});

it("after a pause of the process, the lease is renewed and the gateway answered at once", async () => {
  const spy = spiedStore();
  const times = { leaseMs: 3_000, handlerTimeoutMs: 2_000 };
  const { run } = await heldRun({ store: spy.store, ...times });
  // Blocks the event loop, so that both are overdue.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_100);
  // Both timers fire before one that is started now.
  const later = wait(100).then(() => "later");
  const first = await Promise.race([run.answer.then(({ outcome }) => outcome), later]);
  expect(first).toBe("handler_timeout");
  expect(spy.count("renew")).toBe(1);
  run.resolve();
});

it("what a timer calls runs in the AsyncLocalStorage context of its own delivery", async () => {
  const context = new AsyncLocalStorage<string>();
  const seen: string[] = [];
  const note = (what: string, id: string) => {
    seen.push(`${what} of ${id} in ${String(context.getStore())}`);
  };
  const renew = (id: string) => {
    note("renewal", id);
    return true;
  };
  const ended = deferred();
  const receiver = alarmReceiver(
    ({ id, signal }) => {
      signal.addEventListener("abort", () => note("abort", id));
      return ended.promise;
    },
    {
      store: { ...memoryStore(), renew },
      leaseMs: 1_000,
      handlerTimeoutMs: 500,
      onOutcome: ({ id = "" }) => note("report", id),
    },
  );
  const requests = [await delivery({ id: "first" }), await delivery({ id: "second" })];
  const answers = requests.map((request) =>
    context.run(request.headers["x-webhook-id"], () => receiver.receive(request)),
  );
  const outcomes = (await Promise.all(answers)).map(({ outcome }) => outcome);
  expect(outcomes).toEqual(["handler_timeout", "handler_timeout"]);
  const ofBoth = ["renewal", "abort", "report"].flatMap((what) =>
    ["first", "second"].map((id) => `${what} of ${id} in ${id}`),
  );
  // The signal aborts up to a millisecond after the answer, which is due from the arrival on.
  await expect.poll(() => [...seen].sort()).toEqual(ofBoth.sort());
  ended.resolve();
});

// A process must be able to end while nothing but a renewal, a retry or a bound is left to do. Real timers: only they
// know whether they keep it alive.
describe("timers in the background", () => {
  let set: MockInstance<typeof setTimeout>;
  let clear: MockInstance<typeof clearTimeout>;

  beforeEach(() => {
    set = vi.spyOn(globalThis, "setTimeout");
    clear = vi.spyOn(globalThis, "clearTimeout");
  });

  afterEach(() => {
    // A retry that is no longer due would still come.
    for (const { value } of set.mock.results) clearTimeout(value as NodeJS.Timeout);
  });

  /** The delays of the timers of half a second and more that run, and whether each keeps the process alive. */
  function longTimers(): { readonly ms: number; readonly keepsAlive: boolean }[] {
    const cleared = new Set<unknown>(clear.mock.calls.map(([timer]) => timer));
    return set.mock.calls.flatMap(([, ms = 0], index) => {
      const timer: unknown = set.mock.results[index]?.value;
      if (ms < 500 || cleared.has(timer)) return [];
      return [{ ms: Math.round(ms), keepsAlive: (timer as NodeJS.Timeout).hasRef() }];
    });
  }

  it.each([
    ["a late handler", memoryStore],
    ["a late transactional handler", () => createDatabase().store as object as DeliveryStore],
  ])("the renewals and the bound of %s keep no process alive", async (_what, makeStore) => {
    const limits = { handlerTimeoutMs: 20, handlerMaxMs: 60_020 };
    const { receiver, run } = await heldRun({ store: makeStore(), ...limits });
    expect(await run.answer).toMatchObject({ outcome: "handler_timeout" });
    // The answer is due 20 ms after the arrival, which may be a moment before the handler has run for so long.
    await expect.poll(() => longTimers().length).toBe(2);
    expect(longTimers().filter(({ keepsAlive }) => keepsAlive)).toEqual([]);
    expect(longTimers().some(({ ms }) => ms > 50_000 && ms <= 60_000)).toBe(true);
    run.resolve();
    await receiver.drain();
    expect(longTimers()).toEqual([]);
  });

  it("the retry of a completion keeps no process alive", async () => {
    const { store, comeBack } = failingStore("complete", throws);
    const receiver = alarmReceiver(() => undefined, { store });
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "handled" });
    expect(longTimers()).toEqual([{ ms: 1_000, keepsAlive: false }]);
    comeBack();
    await receiver.drain();
  });
});
