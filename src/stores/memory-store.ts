import { LRUCache } from "lru-cache";
import { ConfigurationError } from "../configuration-error.js";
import { integerOption } from "../integer-option.js";
import { refuseUnknownOptions } from "../known-options.js";
import type { ClaimResult, DeliveryStore } from "./delivery-store.js";

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * How many handled ids are remembered, and how many claims there may be at a time. From 1 to
   * 10 000 000, default 100 000. Beyond it the id handled longest ago is forgotten, even within the
   * retention. Each takes about 130 bytes, of which 28 are reserved when the store is made.
   */
  maxEntries?: number | undefined;
  /** The store's clock in milliseconds. Default `performance.now`, which no clock change moves. */
  now?: (() => number) | undefined;
}

/** All claims are in use by handlers that still run. Answered 503, so nothing is lost. */
class MemoryStoreFullError extends Error {
  override readonly name = "MemoryStoreFullError";

  constructor(maxEntries: number) {
    super(`the memory store holds ${String(maxEntries)} claims in flight: raise maxEntries`);
  }
}

interface Lease {
  owner: string;
  expiresAt: number;
}

/**
 * The default store: one process, and gone with it. Claims in flight live outside the LRU and are
 * never evicted; at `maxEntries` of them a further claim throws.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function memoryStore(options: MemoryStoreOptions = {}): DeliveryStore {
  refuseUnknownOptions(options, ["maxEntries", "now"]);
  const maxEntries = integerOption("maxEntries", options.maxEntries, {
    fallback: 100_000,
    min: 1,
    max: 10_000_000,
  });
  const { now = () => performance.now() } = options;
  if (typeof now !== "function") {
    throw new ConfigurationError(
      "invalid_option",
      "now has to be a function that returns milliseconds",
    );
  }
  /** Handled ids, with the moment when their retention ends. */
  const completed = new LRUCache<string, number>({ max: maxEntries });
  const leases = new Map<string, Lease>();

  const isCompleted = (key: string): boolean => {
    const until = completed.peek(key);
    return until !== undefined && until > now();
  };

  const makeRoom = (): void => {
    if (leases.size < maxEntries) return;
    // An ended lease is kept only to tell a takeover, so it goes before a claim is refused.
    for (const [key, lease] of leases) {
      if (lease.expiresAt <= now()) leases.delete(key);
    }
    if (leases.size >= maxEntries) throw new MemoryStoreFullError(maxEntries);
  };

  return {
    claim(key, owner, { leaseMs }): ClaimResult {
      if (isCompleted(key)) return { state: "completed" };
      const lease = leases.get(key);
      if (lease === undefined) {
        makeRoom();
        leases.set(key, { owner, expiresAt: now() + leaseMs });
        return { state: "claimed", takeover: false };
      }
      const remainingMs = lease.expiresAt - now();
      if (remainingMs > 0 && lease.owner !== owner) {
        return { state: "in_flight", retryAfterMs: remainingMs };
      }
      lease.owner = owner;
      lease.expiresAt = now() + leaseMs;
      return { state: "claimed", takeover: remainingMs <= 0 };
    },

    renew(key, owner, leaseMs) {
      const lease = leases.get(key);
      if (lease?.owner !== owner || lease.expiresAt <= now()) return false;
      lease.expiresAt = now() + leaseMs;
      return true;
    },

    complete(key, _owner, retentionMs) {
      leases.delete(key);
      if (!isCompleted(key)) completed.set(key, now() + retentionMs);
    },

    release(key, owner) {
      if (leases.get(key)?.owner === owner) leases.delete(key);
    },
  };
}
