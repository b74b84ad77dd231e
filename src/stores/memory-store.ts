import { LRUCache } from "lru-cache";
import type { DeliveryStore } from "./delivery-store.js";
import { inProcessStore, type CompletedIds } from "./in-process-store.js";

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * The most completed ids that are remembered, and the most claims in flight. From 1 to 10 000 000,
   * default 100 000. Beyond it the id completed longest ago is forgotten, even within its retention, and
   * the receiver logs one warning. Each id takes about 140 bytes once it arrives.
   */
  maxEntries?: number | undefined;
  /** The store's clock in milliseconds. Default `performance.now`, which ignores changes of the system clock. */
  now?: (() => number) | undefined;
}

/**
 * The default store. It lives in this process and ends with it: after a restart, and in another process, a
 * redelivery of a handled delivery is handled again. Claims in flight are never evicted; with `maxEntries`
 * of them a further claim throws `MemoryStoreFullError`, and the gateway is answered 503.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 * @example
 * ```ts
 * const store = memoryStore({ maxEntries: 500_000 });
 * const receiver = createWebhookReceiver({ secret, handlers, store });
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): DeliveryStore {
  return inProcessStore("memoryStore", options, 100_000, lruCompletedIds);
}

function lruCompletedIds(maxEntries: number, onForgotten: () => void): CompletedIds {
  // Bounded by `maxSize`: for `max` lru-cache allocates its arrays at once, 6 ms and 2.8 MB for 100 000
  // ids. With `maxSize` an id takes 2 to 10 bytes more.
  let addedAt = 0;
  const expirations = new LRUCache<string, number>({
    maxSize: maxEntries,
    sizeCalculation: () => 1,
    dispose(expiresAt, _id, reason) {
      if (reason === "evict" && expiresAt > addedAt) onForgotten();
    },
  });
  return {
    has(id, now) {
      const expiresAt = expirations.peek(id);
      return expiresAt !== undefined && expiresAt > now;
    },
    add(id, now, retentionMs) {
      addedAt = now;
      // V8 stores an integer in place; a fraction would be an object on the heap.
      expirations.set(id, Math.ceil(now + retentionMs));
    },
  };
}
