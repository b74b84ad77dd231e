import { describe, expect, it } from "vitest";
import { memoryStore, type DeliveryStore } from "../../../src/index.js";
import type { ContractCase } from "../../../kit/store-contract/contract-case.js";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import { referenceStore } from "../../../kit/store-contract/reference-store.js";
import { naiveStore } from "../../support/testing/naive-store.js";
import { answersAs, WRONG_STORES, type MakeClients, type WrongStore } from "./wrong-stores.js";

function contractOf(make: MakeClients, leaseMs?: number): readonly ContractCase[] {
  const makeStore = () => {
    let ms = 1_000_000;
    return {
      ...make(() => ms),
      advance(by: number) {
        ms += by;
      },
    };
  };
  return deliveryStoreContract(makeStore, { leaseMs });
}

function inSeconds(ms: number): number {
  return Math.ceil(ms / 1_000) * 1_000;
}

/** Remembers a completion longer each time it is asked for, as Redis does with GETEX. */
function sliding(now: () => number): DeliveryStore {
  const store = naiveStore(now);
  const completed = new Map<string, { until: number; retentionMs: number }>();
  return {
    ...store,
    async claim(key, ...given) {
      const known = completed.get(key);
      if (known === undefined || known.until <= now()) return store.claim(key, ...given);
      known.until = now() + known.retentionMs;
      return { state: "completed" };
    },
    async complete(key, owner, options) {
      await store.complete(key, owner, options);
      const { retentionMs } = options;
      if (!completed.has(key)) completed.set(key, { until: now() + retentionMs, retentionMs });
    },
  };
}

/** The ids of the cases that convict a store. */
async function convictingCases(cases: readonly ContractCase[]): Promise<string[]> {
  const ids: string[] = [];
  for (const { id, run } of cases) {
    const result = await run().catch(() => ({ result: "failed" }));
    if (result.result !== "passed") ids.push(id);
  }
  return ids;
}

describe("wrong stores", () => {
  /** Take longer than all other cases together. */
  const LARGE = ["keys-many", "sequences"];
  const convictions = new Map<MakeClients, Promise<string[]>>();
  const convictionsOf = ([, expected, make]: WrongStore): Promise<string[]> => {
    const known = convictions.get(make);
    if (known !== undefined) return known;
    const cases = contractOf(make).filter(({ id }) => !LARGE.includes(id) || id === expected);
    const ids = convictingCases(cases);
    convictions.set(make, ids);
    return ids;
  };

  it("there are at least forty wrong stores", () => {
    expect(WRONG_STORES.length).toBeGreaterThanOrEqual(40);
  });

  it.each(WRONG_STORES)("a store that %s fails the case %s", async (...wrong) => {
    const convicting = await convictionsOf(wrong);
    expect(convicting).toContain(wrong[1]);
    // What a case of its own convicts needs no sequences.
    if (wrong[1] === "sequences") expect(convicting).toEqual(["sequences"]);
  });

  it("every case of the contract convicts a wrong store", async () => {
    const convicting = new Set((await Promise.all(WRONG_STORES.map(convictionsOf))).flat());
    const all = contractOf((now) => ({ store: naiveStore(now) })).map(({ id }) => id);
    expect(all.filter((id) => !convicting.has(id))).toEqual([]);
  });
});

describe("right stores", () => {
  it.each<[string, MakeClients]>([
    ["memoryStore", (now) => ({ store: memoryStore({ now }) })],
    ["the store in the documentation of DeliveryStore", (now) => ({ store: referenceStore(now) })],
    ["the naive store that the wrong ones are made from", (now) => ({ store: naiveStore(now) })],
    ["a store that rounds retryAfterMs up to seconds", answersAs(inSeconds)],
    ["a store that counts a retention from the last look", (now) => ({ store: sliding(now) })],
  ])("%s passes every case of the contract", async (_name, make) => {
    expect(await convictingCases(contractOf(make))).toEqual([]);
  });

  it("a store that rounds retryAfterMs up to seconds passes the contract with a lease of 100 ms", async () => {
    expect(await convictingCases(contractOf(answersAs(inSeconds), 100))).toEqual([]);
  });
});
