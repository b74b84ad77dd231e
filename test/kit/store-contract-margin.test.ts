import { expect, test } from "vitest";
import { deliveryStoreContract } from "../../kit/store-contract/delivery-store-contract.js";
import { memoryStore, type DeliveryStore } from "../../src/index.js";

const MARGIN_MS = 2_000;

/** A store whose leases end later than they say, as those of a store for hosts with different clocks. */
function laxStore(now: () => number): DeliveryStore {
  const store = memoryStore({ now });
  return {
    async claim(key, owner, { leaseMs, retentionMs }) {
      const result = await store.claim(key, owner, { leaseMs: leaseMs + MARGIN_MS, retentionMs });
      if (result.state !== "in_flight") return result;
      return { ...result, retryAfterMs: Math.min(result.retryAfterMs, leaseMs) };
    },
    renew: (key, owner, { leaseMs }) => store.renew(key, owner, { leaseMs: leaseMs + MARGIN_MS }),
    complete: (key, owner, options) => store.complete(key, owner, options),
    release: (key, owner) => store.release(key, owner),
  };
}

async function failedCases(marginMs: number): Promise<readonly string[]> {
  const cases = deliveryStoreContract(
    () => {
      let ms = Date.now();
      return {
        store: laxStore(() => ms),
        advance: (by: number) => {
          ms += by;
        },
      };
    },
    { marginMs },
  );
  const failed: string[] = [];
  for (const { id, run } of cases) await run().catch(() => failed.push(id));
  return failed;
}

test("a store with a margin after each lease keeps the contract that knows of the margin", async () => {
  expect(await failedCases(MARGIN_MS)).toEqual([]);
  expect((await failedCases(0)).length).toBeGreaterThan(5);
});
