import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import type { WebhookResponse } from "../../src/index.js";
import { deliverStep, processes, runs } from "../support/simulation/handler-runs.js";
import type {
  TransactionFault,
  TransactionMistake,
  TransactionPlace,
} from "../support/transactional/transactional-model-database.js";
import type {
  TransactionPlan,
  TransactionStep,
} from "../support/transactional/transactional-plan.js";
import { simulateTransactions } from "../support/transactional/transactional-simulation.js";

const step: fc.Arbitrary<TransactionStep> = fc.oneof(
  { weight: 6, arbitrary: deliverStep },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant("proceed" as const),
      tasks: fc.integer({ min: 1, max: 8 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant("wait" as const),
      ms: fc.constantFrom(200, 900, 1_100, 2_100, 8_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant("fault" as const),
      place: fc.constantFrom<TransactionPlace>("begin", "commit", "commit", "rollback"),
      fault: fc.constantFrom<TransactionFault>(
        ...(["rejects", "hangs", "loses the answer", "conflicts"] as const),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("cut" as const), process: processes }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("crash" as const), process: processes }) },
);

const plan: fc.Arbitrary<TransactionPlan> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 30, size: "max" }),
  runs,
});

/** The property of every plan. */
function property(mistake?: TransactionMistake, onResponse?: (response: WebhookResponse) => void) {
  const advance = (ms: number) => {
    vi.advanceTimersByTime(ms);
  };
  return fc.asyncProperty(plan, fc.scheduler(), async (given, scheduler) => {
    try {
      await simulateTransactions(given, { advance, scheduler, mistake, onResponse });
    } finally {
      vi.clearAllTimers();
    }
  });
}

beforeEach(() =>
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }),
);

it("in any order of transactions, faults and crashes, an acknowledged delivery has exactly one effect", async () => {
  const seen = new Set<string>();
  await fc.assert(
    property(undefined, ({ outcome }) => seen.add(outcome)),
    { seed: 20_251_009, numRuns: 600 },
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

it.each<[TransactionMistake, string]>([
  ["remembers in a transaction of its own", "with 0 effects"],
  ["forgets to remember", "2 effects"],
  ["commits what has failed", "with 0 effects"],
  ["answers completed for what is in flight", "with 0 effects"],
  ["takes a COMMIT that was a ROLLBACK for done", "with 0 effects"],
])("the transaction model detects a store that %s", async (mistake, fault) => {
  const found = await fc.check(property(mistake), {
    seed: 20_251_009,
    numRuns: 3_000,
    endOnFailure: true,
  });
  expect(found.failed).toBe(true);
  expect(String(found.errorInstance)).toContain(fault);
});
