import { LRUCache } from "lru-cache";
import type { CompletedIds } from "./completed-ids.js";
import type { DeliveryStore } from "./delivery-store.js";
import { inProcessStore } from "./in-process-store.js";

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * How many handled ids are remembered, and how many claims there may be at a time. From 1 to
   * 10 000 000, default 100 000. Beyond it the id handled longest ago is forgotten, even within the
   * retention; the receiver's log has one warning of it. Each takes about 140 bytes, from when it comes.
   */
  maxEntries?: number | undefined;
  /** The store's clock in milliseconds. Default `performance.now`, which no clock change moves. */
  now?: (() => number) | undefined;
}

/**
 * The default store: one process, and gone with it. Claims in flight live outside the LRU and are
 * never evicted; at `maxEntries` of them a further claim throws.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function memoryStore(options: MemoryStoreOptions = {}): DeliveryStore {
  return inProcessStore("memoryStore", options, 100_000, completedInLru);
}

function completedInLru(maxEntries: number, onForgotten: () => void): CompletedIds {
  // Bounded by `maxSize` and not by `max`, for which lru-cache fills arrays when it is made: 6 ms and
  // 2.8 MB at 100 000 ids, 0.1 ms and nothing without. An id then costs the same time and 2 to 10
  // bytes more. Doubling a `max` by copies stopped the process for 40 ms on the way there.
  let addedAt = 0;
  const untils = new LRUCache<string, number>({
    maxSize: maxEntries,
    sizeCalculation: () => 1,
    dispose(until, _id, reason) {
      if (reason === "evict" && until > addedAt) onForgotten();
    },
  });
  return {
    has(id, now) {
      const until = untils.peek(id);
      return until !== undefined && until > now;
    },
    add(id, now, retentionMs) {
      addedAt = now;
      // Whole milliseconds, rounded up, are stored in place; a fraction would be an object on the heap.
      untils.set(id, Math.ceil(now + retentionMs));
    },
  };
}
