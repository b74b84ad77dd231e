import { ConfigurationError } from "../common/errors.js";
import { integerOption, ownOptions } from "../common/option-checks.js";
import type { CreateCompletedIds } from "./completed-ids.js";
import type { ClaimResult, DeliveryStore } from "./delivery-store.js";
import { createLeases } from "./leases.js";
import { onReceiver, type Warn } from "./store-warnings.js";

/** What the stores that live in one process are told. */
export interface InProcessStoreOptions {
  maxEntries?: number | undefined;
  now?: (() => number) | undefined;
}

/** All claims are in use by handlers that still run. Answered 503, so nothing is lost. */
export class MemoryStoreFullError extends Error {
  override readonly name = "MemoryStoreFullError";
  /** Stable, so that code can branch on it. */
  readonly code = "memory_store_full";

  constructor(maxEntries: number) {
    super(`the memory store holds ${String(maxEntries)} claims in flight: raise maxEntries`);
  }
}

// The usual answers are made once, since each new delivery would allocate one.
const CLAIMED: ClaimResult = Object.freeze({ state: "claimed", takeover: false });
const TAKEN_OVER: ClaimResult = Object.freeze({ state: "claimed", takeover: true });
const COMPLETED: ClaimResult = Object.freeze({ state: "completed" });

/**
 * The leases of a store that lives in one process, over whatever remembers its handled ids. Leases
 * live outside of that and are never evicted; at `maxEntries` of them a further claim throws.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
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
      "now has to be a function that returns milliseconds",
    );
  }
  /** Undefined before a receiver has the store, and after the warning. */
  let warn: Warn | undefined;
  const completed = createCompletedIds(maxEntries, () => {
    warn?.(
      `the memory store forgets ids within their retention, since it holds maxEntries (${String(maxEntries)}): ` +
        "a duplicate of such a delivery runs again. Raise maxEntries, or choose a store outside of the process",
    );
    warn = undefined;
  });
  const leases = createLeases();

  const makeRoom = (time: number): void => {
    // An ended lease is kept only to tell a takeover, so it goes before a claim is refused.
    leases.deleteEnded(time);
    if (leases.count() >= maxEntries) throw new MemoryStoreFullError(maxEntries);
  };

  const store: DeliveryStore = {
    claim(key, owner, { leaseMs }) {
      const time = now();
      if (completed.has(key, time)) return COMPLETED;
      const lease = leases.get(key);
      if (lease === undefined) {
        if (leases.count() >= maxEntries) makeRoom(time);
        leases.add(key, { owner, expiresAt: time + leaseMs, takeover: false });
        return CLAIMED;
      }
      const remainingMs = lease.expiresAt - time;
      if (remainingMs > 0 && lease.owner !== owner) {
        return { state: "in_flight", retryAfterMs: remainingMs };
      }
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
      // A key with a lease is not completed: its claim was granted because it was not, and its
      // completion ends the lease. So a completion that stands has to be looked for only without one.
      if (leases.delete(key) || !completed.has(key, time)) completed.add(key, time, retentionMs);
    },

    release(key, owner) {
      const lease = leases.get(key);
      if (lease?.owner !== owner) return;
      // A takeover leaves an ended lease: what the run before it did is still not known.
      if (lease.takeover) lease.expiresAt = now();
      else leases.delete(key);
    },
  };
  onReceiver(store, (given) => {
    warn = given;
  });
  return store;
}
