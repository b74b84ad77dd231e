import { ConfigurationError } from "../common/errors.js";
import { integerOption, ownOptions } from "../common/option-checks.js";
import { CLAIMED, COMPLETED, TAKEN_OVER, inFlight } from "./claim-results.js";
import type { DeliveryStore, StoreConnection } from "./delivery-store.js";
import { Leases } from "./leases.js";

/** Options of the stores that live in one process. */
export interface InProcessStoreOptions {
  maxEntries?: number | undefined;
  now?: (() => number) | undefined;
}

/**
 * The completed ids, each with the end of its retention. There are at most `maxEntries`: beyond that, the
 * id completed longest ago is forgotten. Times are milliseconds of the store's clock.
 */
export interface CompletedIds {
  /** Whether `id` was completed and its retention has not ended at `now`. */
  has(id: string, now: number): boolean;
  /** Remembers `id` until `now + retentionMs`, or until `maxEntries` later ids have been added. */
  add(id: string, now: number, retentionMs: number): void;
}

/** Creates an empty set. `onForgotten` is called when an id is forgotten within its retention. */
export type CreateCompletedIds = (maxEntries: number, onForgotten: () => void) => CompletedIds;

/**
 * A memory store has `maxEntries` claims in flight and accepts no more. The receiver answers 503, and the
 * gateway sends the delivery again.
 */
export class MemoryStoreFullError extends Error {
  override readonly name = "MemoryStoreFullError";
  /** Stable, so that code can branch on it. */
  readonly code = "memory_store_full";

  constructor(maxEntries: number) {
    super(`the memory store holds ${String(maxEntries)} claims in flight: raise maxEntries`);
  }
}

/**
 * The common part of `memoryStore` and `compactMemoryStore`, which differ in how they keep completed ids.
 * Leases are never evicted: with `maxEntries` of them in flight, a further claim throws. `maker` is the
 * name of the public function in error messages.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 */
export function inProcessStore(
  maker: string,
  given: InProcessStoreOptions,
  defaultMaxEntries: number,
  createCompletedIds: CreateCompletedIds,
): DeliveryStore {
  const options = ownOptions(maker, given, ["maxEntries", "now"]);
  const maxEntries = integerOption("maxEntries", options.maxEntries, {
    fallback: defaultMaxEntries,
    min: 1,
    max: 10_000_000,
  });
  const { now = () => performance.now() } = options;
  if (typeof now !== "function") {
    throw new ConfigurationError(
      "invalid_option",
      "now must be a function that returns milliseconds",
    );
  }
  /** Undefined until a receiver uses the store, and again after the one warning. */
  let receiver: StoreConnection | undefined;
  const completed = createCompletedIds(maxEntries, () => {
    receiver?.warn(
      `the memory store forgets ids within their retention, since it holds maxEntries (${String(maxEntries)}): ` +
        "a duplicate of such a delivery runs again. Raise maxEntries, or choose a store outside of the process",
    );
    receiver = undefined;
  });
  const leases = new Leases();

  /** Deletes ended leases, which only serve to recognize a takeover. Throws if no lease has ended. */
  const makeRoom = (time: number): void => {
    leases.deleteEnded(time);
    if (leases.size >= maxEntries) throw new MemoryStoreFullError(maxEntries);
  };

  return {
    claim(key, owner, { leaseMs }) {
      const time = now();
      if (completed.has(key, time)) return COMPLETED;
      const lease = leases.get(key);
      if (lease === undefined) {
        if (leases.size >= maxEntries) makeRoom(time);
        leases.add({ key, owner, expiresAt: time + leaseMs, takeover: false });
        return CLAIMED;
      }
      const remainingMs = lease.expiresAt - time;
      if (remainingMs > 0 && lease.owner !== owner) return inFlight(remainingMs);
      lease.owner = owner;
      lease.expiresAt = time + leaseMs;
      if (remainingMs <= 0) lease.takeover = true;
      return lease.takeover ? TAKEN_OVER : CLAIMED;
    },

    renew(key, owner, { leaseMs }) {
      const time = now();
      const lease = leases.get(key);
      if (lease?.owner !== owner || lease.expiresAt <= time) return false;
      lease.expiresAt = time + leaseMs;
      return true;
    },

    complete(key, _owner, { retentionMs }) {
      const time = now();
      // A leased key is not completed, so only a key without a lease needs the second lookup.
      if (leases.delete(key) || !completed.has(key, time)) completed.add(key, time, retentionMs);
    },

    release(key, owner) {
      const lease = leases.get(key);
      if (lease?.owner !== owner) return;
      // Kept as an ended lease: it is still unknown what the run before the takeover did.
      if (lease.takeover) lease.expiresAt = now();
      else leases.delete(key);
    },

    connectReceiver(connection) {
      receiver = connection;
    },
  };
}
