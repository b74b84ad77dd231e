import { AsyncLocalStorage } from "node:async_hooks";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import { alarmReceiver, heldRun } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { spiedStore } from "../support/spied-store.js";

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe("the timers of a running handler", () => {
  beforeEach(() => vi.useFakeTimers());

  it.each([
    { leaseMs: 30_000, handlerTimeoutMs: 20_000 },
    { leaseMs: 30_000, handlerTimeoutMs: 2_000 },
    { leaseMs: 3_000, handlerTimeoutMs: 1_000 },
    { leaseMs: 3_000, handlerTimeoutMs: 7_500 },
  ])(
    "with $leaseMs ms of lease and $handlerTimeoutMs ms for the handler, each renewal and the answer come at their millisecond",
    async ({ leaseMs, handlerTimeoutMs }) => {
      const startedAt = performance.now();
      const sinceStart = () => performance.now() - startedAt;
      const inner = memoryStore();
      const renewedAt: number[] = [];
      const renew: DeliveryStore["renew"] = (...call) => {
        renewedAt.push(sinceStart());
        return inner.renew(...call);
      };
      const store = { ...inner, renew };
      const { run } = await heldRun({ store, leaseMs, handlerTimeoutMs });
      const answered = run.answer.then(({ outcome }) => ({ outcome, at: sinceStart() }));
      await vi.advanceTimersByTimeAsync(60_000);
      expect(await answered).toEqual({ outcome: "handler_timeout", at: handlerTimeoutMs });
      const count = (60_000 * 3) / leaseMs;
      expect(renewedAt).toEqual(Array.from({ length: count }, (_, at) => ((at + 1) * leaseMs) / 3));
      run.resolve();
      await vi.advanceTimersByTimeAsync(0);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it("a handler that is neither late nor due for a renewal has one timer", async () => {
    const { run } = await heldRun({ leaseMs: 30_000, handlerTimeoutMs: 20_000 });
    await vi.advanceTimersByTimeAsync(9_999);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(vi.getTimerCount()).toBe(2);
    expect(await run.succeed()).toMatchObject({ outcome: "handled" });
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([5_000, 15_000])(
    "a completion that begins %d ms after the claim moves no renewal and adds none",
    async (settledMs) => {
      const taken = deferred();
      const inner = memoryStore();
      const spy = spiedStore({
        complete: (...call) => taken.promise.then(() => inner.complete(...call)),
      });
      const times = { leaseMs: 30_000, dependencyTimeoutMs: 60_000 };
      const { run } = await heldRun({ store: spy.store, ...times });
      await vi.advanceTimersByTimeAsync(settledMs);
      run.resolve();
      await vi.advanceTimersByTimeAsync(39_999 - settledMs);
      expect(spy.count("complete")).toBe(1);
      expect(spy.count("renew")).toBe(3);
      await vi.advanceTimersByTimeAsync(1);
      expect(spy.count("renew")).toBe(4);
      taken.resolve();
      expect(await run.answer).toMatchObject({ outcome: "handled" });
      expect(vi.getTimerCount()).toBe(0);
    },
  );
});

it("after a pause of the process that outlasts both, the lease is renewed and the gateway answered at once", async () => {
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
  const inner = memoryStore();
  const renew: DeliveryStore["renew"] = (id, ...call) => {
    note("renewal", id);
    return inner.renew(id, ...call);
  };
  const ended = deferred();
  const receiver = alarmReceiver(
    ({ id, signal }) => {
      signal.addEventListener("abort", () => note("abort", id));
      return ended.promise;
    },
    {
      store: { ...inner, renew },
      leaseMs: 1_000,
      handlerTimeoutMs: 500,
      onOutcome: ({ id = "" }) => note("report", id),
    },
  );
  const requests = [await delivery({ id: "first" }), await delivery({ id: "second" })];
  const answers = requests.map((request) =>
    context.run(request.headers["x-webhook-id"], () => receiver.receive(request)),
  );
  expect((await Promise.all(answers)).map(({ outcome }) => outcome)).toEqual([
    "handler_timeout",
    "handler_timeout",
  ]);
  const ofBoth = ["renewal", "abort", "report"].flatMap((what) =>
    ["first", "second"].map((id) => `${what} of ${id} in ${id}`),
  );
  // The signal aborts up to a millisecond after the answer, which is due from the arrival on.
  await expect.poll(() => [...seen].sort()).toEqual(ofBoth.sort());
  ended.resolve();
});
