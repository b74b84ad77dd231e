import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryStore, type WebhookResponse } from "../../src/index.js";
import { simulate, type Plan, type Step } from "../support/simulation/delivery-simulation.js";
import { deliverStep, processes, runs } from "../support/simulation/handler-runs.js";
import { naiveStore, type StoreMistake } from "../support/testing/naive-store.js";

type MakeStore = (now: () => number) => DeliveryStore;

const spans = fc.constantFrom(200, 900, 1_100, 2_100, 3_100, 8_000);
const methods = fc.constantFrom<keyof DeliveryStore>("claim", "renew", "complete", "release");

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: deliverStep },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant("proceed" as const),
      tasks: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ what: fc.constant("wait" as const), ms: spans }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("freeze" as const), ms: spans }) },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant("fault" as const),
      method: methods,
      fault: fc.constantFrom("throws", "rejects", "hangs", "loses the answer"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant("restart" as const), process: processes }),
  },
);

const plan: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 30, size: "max" }),
  runs,
  isRemote: fc.boolean(),
});

/** The property of every plan, on stores of one kind. */
function property(makeStore: MakeStore, onResponse: (response: WebhookResponse) => void) {
  return fc.asyncProperty(plan, fc.scheduler(), async (given, scheduler) => {
    const clock = {
      now: () => performance.now(),
      advance: (ms: number) => {
        vi.advanceTimersByTime(ms);
      },
    };
    try {
      await simulate(given, { clock, scheduler, makeStore, onResponse });
    } finally {
      vi.clearAllTimers();
    }
  });
}

beforeEach(() =>
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }),
);

it.each<[string, MakeStore]>([
  ["the memory store", (now) => memoryStore({ maxEntries: 100, now })],
  ["another store that keeps the contract", (now) => naiveStore(now)],
])("a delivery is handled once or sent again in any order on %s", async (_which, makeStore) => {
  const seen = new Set<string>();
  await fc.assert(
    property(makeStore, ({ outcome }) => seen.add(outcome)),
    { seed: 20_251_009, numRuns: 400 },
  );
  // The plans reach every outcome of a genuine delivery.
  expect([...seen].sort()).toEqual([
    "discarded",
    "duplicate",
    "handled",
    "handler_failed",
    "handler_timeout",
    "in_flight",
    "retry_later",
    "store_unavailable",
  ]);
});

// Some mistakes show in one plan of a thousand. Each seed makes such a plan early.
it.each<[StoreMistake, string, number]>([
  ["forgets the lease", "runs again", 43],
  ["answers completed for what is in flight", "no run has succeeded", 43],
  ["releases for anyone", "runs again", 2],
  ["forgets the completion", "runs again", 43],
  ["undoes the completion on release", "runs again", 43],
  ["never ends a lease", "is never handled", 43],
  ["hides a takeover", "is claimed as no takeover", 43],
  ["forgets a takeover that is released", "is claimed as no takeover", 43],
])("the model detects a store that %s", async (mistake, fault, seed) => {
  const found = await fc.check(
    property(
      (now) => naiveStore(now, mistake),
      () => undefined,
    ),
    { seed, numRuns: 200, endOnFailure: true },
  );
  expect(found.failed).toBe(true);
  expect(String(found.errorInstance)).toContain(fault);
});
