import { DeadlineError, within } from "../common/deadline.js";
import { isPromise, type MaybeLater, type MaybePromise } from "../common/maybe-promise.js";
import { Places, type Place } from "../common/places.js";

/** Bounds of the calls of a secret function. */
export interface LookupLimits {
  /** Calls that run at once; a further one waits for the end of another. */
  readonly maxConcurrentDeliveries: number;
  /** How long a call may wait and run, in milliseconds. */
  readonly dependencyTimeoutMs: number;
}

const WHAT = "the secret function";
/** For timers that are late on a busy process. */
const GRACE_MS = 1_000;

/**
 * Bounds `find` in time and number: anyone can send forgeries, and each is looked up before it is
 * refused. Throws or rejects where `find` does, and with a `DeadlineError` when the time is over.
 */
export function limitLookups<Query, Found>(
  find: (query: Query) => MaybePromise<Found>,
  { maxConcurrentDeliveries, dependencyTimeoutMs }: LookupLimits,
): (query: Query) => MaybeLater<Found> {
  const running = new Places(maxConcurrentDeliveries, dependencyTimeoutMs + GRACE_MS);
  /** In order of arrival. */
  const waiting = new Set<(place: Place) => void>();

  /** To the one that has waited longest. Its `find` is called by its own request, not by this one. */
  const handOn = (place: Place): void => {
    running.give(place);
    for (const take of waiting) {
      waiting.delete(take);
      take(running.take());
      return;
    }
  };

  const bounded = async (found: PromiseLike<Found>, timeoutMs: number, place: Place) => {
    try {
      return await within(timeoutMs, WHAT, found);
    } finally {
      // A call that never ends gives its place back with its time, or a few would block all deliveries.
      handOn(place);
    }
  };

  const turn = (): Promise<Place> =>
    new Promise((resolve, reject) => {
      const take = (place: Place): void => {
        clearTimeout(timer);
        resolve(place);
      };
      const timer = setTimeout(() => {
        waiting.delete(take);
        reject(new DeadlineError(WHAT, dependencyTimeoutMs));
      }, dependencyTimeoutMs);
      waiting.add(take);
    });

  const waitAndLookUp = async (query: Query): Promise<Found> => {
    const until = performance.now() + dependencyTimeoutMs;
    const place = await turn();
    let found: MaybePromise<Found>;
    try {
      found = find(query);
    } catch (error) {
      handOn(place);
      throw error;
    }
    return bounded(Promise.resolve(found), Math.max(1, until - performance.now()), place);
  };

  return (query) => {
    if (running.areTaken()) return waitAndLookUp(query);
    const found = find(query);
    return isPromise(found) ? bounded(found, dependencyTimeoutMs, running.take()) : found;
  };
}
