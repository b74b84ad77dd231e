import * as fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import { alarmReceiver, heldRun, send } from "../support/alarm-receiver.js";
import { never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { firstCall, spiedStore } from "../support/spied-store.js";

const MAX_MS = 2_147_483_647;

beforeEach(() => vi.useFakeTimers());

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Watches the lease from another process and counts the claims that are granted to it. */
async function claimsGranted(store: DeliveryStore, id: string, leaseMs: number, untilMs: number) {
  let granted = 0;
  for (let at = 0; at < untilMs; at += leaseMs / 40) {
    await vi.advanceTimersByTimeAsync(leaseMs / 40);
    const claim = await store.claim(id, "another process", { leaseMs, retentionMs: MAX_MS });
    if (claim.state === "claimed") granted += 1;
  }
  return granted;
}

const milliseconds = (min: number) =>
  fc.oneof(fc.integer({ min, max: 60_000 }), fc.integer({ min, max: MAX_MS }));

it("one lost answer to a renewal starts no second run for any leaseMs and dependencyTimeoutMs", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        leaseMs: milliseconds(1_000),
        dependencyTimeoutMs: milliseconds(1),
        /** Share of the longest time a claim may take: the lease begins long before it is known here. */
        claimDelay: fc.double({ min: 0, max: 0.99, noNaN: true }),
        lost: fc.integer({ min: 1, max: 4 }),
        isTaken: fc.boolean(),
      }),
      async ({ leaseMs, dependencyTimeoutMs, claimDelay, lost, isTaken }) => {
        const inner = memoryStore();
        let renewals = 0;
        const store: DeliveryStore = {
          ...inner,
          async claim(...call) {
            const claim = inner.claim(...call);
            await wait(Math.floor(claimDelay * Math.min(dependencyTimeoutMs, leaseMs / 2)));
            return claim;
          },
          renew(...call) {
            renewals += 1;
            if (renewals !== lost) return inner.renew(...call);
            if (isTaken) void inner.renew(...call);
            return never<boolean>();
          },
        };
        const receiver = alarmReceiver(() => never<undefined>(), {
          store,
          leaseMs,
          dependencyTimeoutMs,
          handlerTimeoutMs: MAX_MS,
        });
        const claimed = firstCall(store, "claim");
        void receiver.receive(await delivery({ id: "watched" }));
        await claimed;
        const untilMs = Math.min(3 * leaseMs, MAX_MS - leaseMs);
        expect(await claimsGranted(inner, "watched", leaseMs, untilMs)).toBe(0);
        vi.clearAllTimers();
      },
    ),
    { numRuns: 150 },
  );
});

it("with a short lease and a long dependencyTimeoutMs one lost answer starts no second handler", async () => {
  const inner = memoryStore();
  const { store, count } = spiedStore(
    { renew: (...call) => (count("renew") === 1 ? never<boolean>() : inner.renew(...call)) },
    inner,
  );
  const options = { leaseMs: 5_000, handlerTimeoutMs: 60_000 };
  const { handler, runs } = await heldRun({ ...options, store });
  const other = alarmReceiver(handler, { ...options, store: inner });
  for (let ms = 0; ms < 15_000; ms += 100) {
    await vi.advanceTimersByTimeAsync(100);
    expect(await send(other)).toBe("409 in_flight");
  }
  expect(runs).toHaveLength(1);
});
