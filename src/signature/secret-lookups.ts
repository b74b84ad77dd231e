import { DeadlineError, within } from "../common/timers.js";
import { isPromise, type MaybeLater, type MaybePromise } from "../common/promises.js";
import { ConcurrencyLimit, type Slot } from "../common/concurrency-limit.js";

/** Limits for the calls of a secret function. */
export interface LookupLimits {
  /** Number of calls that run at the same time. Further calls wait. */
  readonly maxConcurrentDeliveries: number;
  /** Time that a call may wait and run, in milliseconds. */
  readonly dependencyTimeoutMs: number;
}

const WHAT = "the secret function";
/** Extra time for timers that are late on a busy process. */
const GRACE_MS = 1_000;

/**
 * Limits the time and the number of `find` calls: anyone can send forgeries, and each one is looked
 * up before it is refused. Throws or rejects when `find` does, and with a `DeadlineError` when the
 * time is over.
 */
export function limitLookups<Query, Found>(
  find: (query: Query) => MaybePromise<Found>,
  { maxConcurrentDeliveries, dependencyTimeoutMs }: LookupLimits,
): (query: Query) => MaybeLater<Found> {
  const limit = new ConcurrencyLimit(maxConcurrentDeliveries, dependencyTimeoutMs + GRACE_MS);
  /** In order of arrival. */
  const waiting = new Set<(slot: Slot) => void>();

  /** Lets the call that has waited longest run. Its own request calls `find`, not this one. */
  const handOn = (slot: Slot): void => {
    limit.leave(slot);
    for (const take of waiting) {
      waiting.delete(take);
      take(limit.enter());
      return;
    }
  };

  const bounded = async (found: PromiseLike<Found>, timeoutMs: number, slot: Slot) => {
    try {
      return await within(timeoutMs, WHAT, found);
    } finally {
      // A call that never ends frees its slot when its time is over. Otherwise a few such calls
      // would block all deliveries.
      handOn(slot);
    }
  };

  const turn = (): Promise<Slot> =>
    new Promise((resolve, reject) => {
      const take = (slot: Slot): void => {
        clearTimeout(timer);
        resolve(slot);
      };
      const timer = setTimeout(() => {
        waiting.delete(take);
        reject(new DeadlineError(WHAT, dependencyTimeoutMs));
      }, dependencyTimeoutMs);
      waiting.add(take);
    });

  const waitAndLookUp = async (query: Query): Promise<Found> => {
    const until = performance.now() + dependencyTimeoutMs;
    const slot = await turn();
    let found: MaybePromise<Found>;
    try {
      found = find(query);
    } catch (error) {
      handOn(slot);
      throw error;
    }
    return bounded(Promise.resolve(found), Math.max(1, until - performance.now()), slot);
  };

  return (query) => {
    if (limit.isReached()) return waitAndLookUp(query);
    const found = find(query);
    return isPromise(found) ? bounded(found, dependencyTimeoutMs, limit.enter()) : found;
  };
}
