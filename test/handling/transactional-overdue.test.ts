import { beforeEach, expect, it, vi } from "vitest";
import type { TransactionalStore } from "../../src/index.js";
import { heldHandler } from "../support/alarm-receiver.js";
import { delivery } from "../support/deliveries.js";
import { transactionalReceiver } from "../support/transactional/transactional-receiver.js";

beforeEach(() => vi.useFakeTimers());

const LEASE_MS = 3_000;
/** A run counts as ended when its timers are later than this. */
const OVERDUE_MS = LEASE_MS / 3 + 2 * LEASE_MS;

/** A receiver on a store that locks nothing: it runs whatever reaches it. */
function scene() {
  const calls: string[] = [];
  const store: TransactionalStore<string> = {
    async process(key, work) {
      calls.push(key);
      await work("tx");
      return { state: "processed" };
    },
  };
  const { handler, start } = heldHandler();
  const receiver = transactionalReceiver(store, handler, { leaseMs: LEASE_MS });
  return { receiver, calls, start };
}

/** As a runtime that ends a request with its answer: none of its timers fires any more. */
function endRequests(): void {
  vi.clearAllTimers();
}

it("a transactional run whose timers stopped is in flight for two leases, then the store decides again", async () => {
  const { receiver, calls, start } = scene();
  await start(receiver, await delivery());
  endRequests();
  await vi.advanceTimersByTimeAsync(OVERDUE_MS);
  expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "in_flight" });
  expect(calls).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  const second = await start(receiver, await delivery());
  expect(calls).toHaveLength(2);
  expect(await second.succeed()).toMatchObject({ outcome: "handled" });
});

it("a transactional run that settles after its successor began leaves the successor in flight", async () => {
  const { receiver, calls, start } = scene();
  const first = await start(receiver, await delivery());
  endRequests();
  await vi.advanceTimersByTimeAsync(OVERDUE_MS + 1);
  const second = await start(receiver, await delivery());
  await first.fail(new Error("thawed, and too late"));
  expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "in_flight" });
  expect(calls).toHaveLength(2);
  expect(await second.succeed()).toMatchObject({ outcome: "handled" });
  expect(vi.getTimerCount()).toBe(0);
});

it("a transactional run whose timers go on is in flight however long it takes, and the store is not asked", async () => {
  const { receiver, calls, start } = scene();
  const run = await start(receiver, await delivery());
  for (let leases = 0; leases < 10; leases++) {
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "in_flight" });
  }
  expect(calls).toHaveLength(1);
  run.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(0);
});
