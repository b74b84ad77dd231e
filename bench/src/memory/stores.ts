import { memoryStore, type DeliveryStore } from "identity-gateway-webhooks";
import { LRUCache } from "lru-cache";

/** Remembers one id. True if it was new. */
export type Remember = (id: string) => boolean;

/** Makes a store for this many ids. */
export type MakeMemory = (maxEntries: number) => Remember;

const TIMES = { leaseMs: 30_000, retentionMs: 604_800_000 };

function ofStore(store: DeliveryStore): Remember {
  return (id) => {
    const claim = store.claim(id, "owner", TIMES);
    if (!("state" in claim)) throw new Error("a store in memory returned a promise");
    if (claim.state !== "claimed") return false;
    store.complete(id, "owner", TIMES);
    return true;
  };
}

/** All contenders, by their name in the tables. */
export function memories(): Readonly<Record<string, MakeMemory>> {
  return {
    "lru-cache": (maxEntries) => {
      const ids = new LRUCache<string, true>({ max: maxEntries });
      return (id) => {
        if (ids.has(id)) return false;
        ids.set(id, true);
        return true;
      };
    },
    memoryStore: (maxEntries) => ofStore(memoryStore({ maxEntries })),
  };
}
