import { afterEach, beforeEach, expect, it, vi, type MockInstance } from "vitest";
import { alarmReceiver, heldRun } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { throws } from "../support/faults.js";
import { failingStore } from "../support/spied-store.js";
import { transactionalReceiver } from "../support/transactional/transactional-receiver.js";

// A process must be able to end while nothing but a renewal, a retry or a bound is left to do. Real timers: only they
// know whether they keep it alive.

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

it("the renewals and the bound of a late handler keep no process alive", async () => {
  const { receiver, run } = await heldRun({ handlerTimeoutMs: 20, handlerMaxMs: 60_020 });
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

it("what tells that a transactional run goes on keeps no process alive", async () => {
  const held = deferred();
  const receiver = transactionalReceiver(
    {
      async process(_key, work) {
        await work("tx");
        return { state: "processed" };
      },
    },
    () => held.promise,
    { handlerTimeoutMs: 20, handlerMaxMs: 60_020 },
  );
  expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "handler_timeout" });
  await expect.poll(() => longTimers().length).toBe(2);
  expect(longTimers().filter(({ keepsAlive }) => keepsAlive)).toEqual([]);
  held.resolve();
  await receiver.drain();
  expect(longTimers()).toEqual([]);
});
