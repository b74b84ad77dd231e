import { describe, expect, it } from "vitest";
import { compactMemoryStore, memoryStore } from "../../../src/index.js";
import { deliveryStoreContract } from "../../../src/testing/store-contract/delivery-store-contract.js";
import { naiveStore } from "../../support/testing/naive-store.js";
import { documentedStore } from "./documented-store.js";
import { WRONG_STORES, type MakeClients } from "./wrong-stores.js";

/** The ids of the cases that convict a store. */
async function convictedBy(make: MakeClients): Promise<string[]> {
  const contract = deliveryStoreContract(() => {
    let ms = 1_000_000;
    return {
      ...make(() => ms),
      advance(by) {
        ms += by;
      },
    };
  });
  const ids: string[] = [];
  for (const { id, run } of contract) {
    try {
      expect(await run()).toEqual({ result: "passed" });
    } catch {
      ids.push(id);
    }
  }
  return ids;
}

describe("wrong stores", () => {
  it("there are at least forty wrong stores", () => {
    expect(WRONG_STORES.length).toBeGreaterThanOrEqual(40);
  });

  it.each(WRONG_STORES)("a store that %s fails the case %s", async (_what, expected, make) => {
    expect(await convictedBy(make)).toContain(expected);
  });
});

describe("right stores", () => {
  it.each<[string, MakeClients]>([
    ["memoryStore", (now) => ({ store: memoryStore({ now }) })],
    ["compactMemoryStore", (now) => ({ store: compactMemoryStore({ maxEntries: 20_000, now }) })],
    ["the store in the documentation of DeliveryStore", (now) => ({ store: documentedStore(now) })],
    ["the naive store that the wrong ones are made from", (now) => ({ store: naiveStore(now) })],
  ])("%s passes every case of the contract", async (_name, make) => {
    expect(await convictedBy(make)).toEqual([]);
  });
});
