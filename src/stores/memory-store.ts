import { LRUCache } from "lru-cache";
import { GatewayWebhookError, invalidOption } from "../common/errors.js";
import { integerOption, ownOptions } from "../common/option-checks.js";
import {
  CLAIMED,
  COMPLETED,
  TAKEN_OVER,
  inFlight,
  type DeliveryStore,
  type StoreConnection,
} from "./delivery-store.js";
import { whereToRead } from "../common/pages.js";
import { RecentMap } from "../common/recent-map.js";
import { environmentVariable, isClusterWorker, isVariableSet } from "../common/runtime.js";

/** Options of `memoryStore`. */
interface MemoryStoreOptions {
  /**
   * The most completed ids that are remembered, and the most claims in flight. From 1 to 10 000 000,
   * default 100 000. Beyond it the id completed longest ago is forgotten, even within its retention, and
   * the receiver logs one warning. Each id takes about 140 bytes once it arrives.
   */
  maxEntries?: number | undefined;
  /**
   * The store's clock in milliseconds, read once when the store is made. Default `performance.now`, which
   * ignores changes of the system clock.
   */
  now?: (() => number) | undefined;
}

const MAX_RECEIVERS = 100;
const MAX_ENTRIES = { fallback: 100_000, min: 1, max: 10_000_000 };

/**
 * The default store. It lives in this process and ends with it: after a restart, and in another process, a
 * redelivery of a handled delivery is handled again. Claims in flight are never evicted; with `maxEntries`
 * of them a further claim throws `memory_store_full`, and the gateway is answered 503.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 * @example
 * ```ts
 * const store = memoryStore({ maxEntries: 500_000 });
 * const receiver = createWebhookReceiver({ secret, handlers, store });
 * ```
 */
export function memoryStore(given: MemoryStoreOptions = {}): DeliveryStore {
  const options = ownOptions("memoryStore", given, ["maxEntries", "now"]);
  const maxEntries = integerOption("maxEntries", options.maxEntries, MAX_ENTRIES);
  const { now = () => performance.now() } = options;
  if (typeof now !== "function" || !Number.isFinite(now())) {
    throw invalidOption("now must be a function that returns milliseconds");
  }
  /** The receivers and workers that use the store. Each is warned once. */
  const receivers = new Set<StoreConnection>();
  const completed = completedIds(maxEntries, () => {
    const line =
      `the memory store forgets ids within their retention, since it holds maxEntries (${String(maxEntries)}): ` +
      "a duplicate of such a delivery runs again. Raise maxEntries, or choose a store outside of the process";
    for (const receiver of receivers) {
      receiver.warn(line);
      receiver.noteForgets();
    }
    receivers.clear();
  });
  const leases = new RecentMap<Lease>();

  /** Deletes ended leases, which only serve to recognize a takeover. Throws if no lease has ended. */
  const makeRoom = (time: number): void => {
    leases.deleteWhere(({ expiresAt }) => expiresAt <= time);
    if (leases.size < maxEntries) return;
    throw new GatewayWebhookError(
      "memory_store_full",
      `the memory store holds ${String(maxEntries)} claims in flight: raise maxEntries`,
    );
  };

  return {
    isInMemory: true,
    claim(key, owner, { leaseMs }) {
      const time = now();
      if (completed.has(key, time)) return COMPLETED;
      const lease = leases.get(key);
      if (lease === undefined) {
        if (leases.size >= maxEntries) makeRoom(time);
        leases.set(key, { owner, expiresAt: time + leaseMs, takeover: false });
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
      // Bounded, for a program that makes receivers again and again.
      if (receivers.size < MAX_RECEIVERS) receivers.add(connection);
    },
  };
}

/**
 * The completed ids, each with the end of its retention. There are at most `maxEntries`: beyond that, the id completed
 * longest ago is forgotten, and `onForgotten` is called if its retention had not ended.
 */
function completedIds(maxEntries: number, onForgotten: () => void) {
  // Bounded by `maxSize`: for `max` lru-cache allocates its arrays at once, 6 ms and 2.8 MB for 100 000
  // ids. With `maxSize` an id takes 2 to 10 bytes more.
  let addedAt = 0;
  const expirations = new LRUCache<string, number>({
    maxSize: maxEntries,
    dispose(expiresAt, _id, reason) {
      if (reason === "evict" && expiresAt > addedAt) onForgotten();
    },
  });
  return {
    /** Whether `id` was completed and its retention has not ended at `now`. */
    has(id: string, now: number): boolean {
      return (expirations.peek(id) ?? -Infinity) > now;
    },
    add(id: string, now: number, retentionMs: number): void {
      addedAt = now;
      // V8 stores an integer in place; a fraction would be an object on the heap.
      expirations.set(id, Math.ceil(now + retentionMs), { size: 1 });
    },
  };
}

/** Who handles a key, and until when unless it is renewed. */
interface Lease {
  owner: string;
  expiresAt: number;
  /** Whether an earlier lease on the key ended without completion or release. */
  takeover: boolean;
}

/**
 * The store of a receiver without the option `store`: `memoryStore()`. Warns in production and on platforms that run
 * several processes, because a redelivery may reach a process that does not know the id.
 */
export function defaultStore(): DeliveryStore {
  const store = memoryStore();
  const platform = findPlatform();
  if (platform === undefined) return store;
  return {
    ...store,
    connectReceiver(receiver) {
      store.connectReceiver?.(receiver);
      receiver.warn(
        `no store is given, so handled ids are kept in this process only, and this is ${platform}: a ` +
          "duplicate that reaches another process runs again, and so does one after a restart. Pass a store that all " +
          `processes share, or memoryStore() to accept that. To find out more: ${whereToRead("stores")}`,
      );
    },
  };
}

/**
 * The platforms that run several processes of an application, at once or in turn, by an environment
 * variable that each of them sets.
 */
const PLATFORM_BY_VARIABLE = {
  AWS_LAMBDA_FUNCTION_NAME: "AWS Lambda",
  K_SERVICE: "Google Cloud Run",
  KUBERNETES_SERVICE_HOST: "Kubernetes",
};

function findPlatform(): string | undefined {
  if (isClusterWorker()) return "a worker of node:cluster";
  for (const [variable, platform] of Object.entries(PLATFORM_BY_VARIABLE)) {
    if (isVariableSet(variable)) return platform;
  }
  return environmentVariable("NODE_ENV") === "production" ? "production (NODE_ENV)" : undefined;
}
