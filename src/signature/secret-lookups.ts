import { DeadlineError, within } from "../common/timers.js";
import { isPromise, type ValueOrPromise, type MaybePromise } from "../common/promises.js";
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
 * Limits the time and the number of calls of a secret function: anyone can send forgeries, and each one
 * is looked up before it is refused.
 */
export class LimitedLookups<Query, Found> {
  readonly #find: (query: Query) => MaybePromise<Found>;
  readonly #timeoutMs: number;
  readonly #limit: ConcurrencyLimit;
  /** In order of arrival. */
  readonly #waiting = new Set<(slot: Slot) => void>();

  constructor(
    find: (query: Query) => MaybePromise<Found>,
    { maxConcurrentDeliveries, dependencyTimeoutMs }: LookupLimits,
  ) {
    this.#find = find;
    this.#timeoutMs = dependencyTimeoutMs;
    this.#limit = new ConcurrencyLimit(maxConcurrentDeliveries, dependencyTimeoutMs + GRACE_MS);
  }

  /** Throws or rejects when `find` does, and with a `DeadlineError` when the time is over. */
  lookUp(query: Query): ValueOrPromise<Found> {
    if (this.#limit.isReached()) return this.#waitAndLookUp(query);
    const find = this.#find;
    const found = find(query);
    return isPromise(found)
      ? this.#awaitInTime(found, this.#timeoutMs, this.#limit.enter())
      : found;
  }

  async #waitAndLookUp(query: Query): Promise<Found> {
    const until = performance.now() + this.#timeoutMs;
    const slot = await this.#waitForSlot();
    const find = this.#find;
    let found: MaybePromise<Found>;
    try {
      found = find(query);
    } catch (error) {
      this.#handOn(slot);
      throw error;
    }
    const remainingMs = Math.max(1, until - performance.now());
    return this.#awaitInTime(Promise.resolve(found), remainingMs, slot);
  }

  #waitForSlot(): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const take = (slot: Slot): void => {
        clearTimeout(timer);
        resolve(slot);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(take);
        reject(new DeadlineError(WHAT, this.#timeoutMs));
      }, this.#timeoutMs);
      this.#waiting.add(take);
    });
  }

  async #awaitInTime(found: PromiseLike<Found>, timeoutMs: number, slot: Slot): Promise<Found> {
    try {
      return await within(timeoutMs, WHAT, found);
    } finally {
      // A call that never ends frees its slot when its time is over. Otherwise a few such calls
      // would block all deliveries.
      this.#handOn(slot);
    }
  }

  /** Lets the call that has waited longest run. Its own request calls `find`, not this one. */
  #handOn(slot: Slot): void {
    this.#limit.leave(slot);
    for (const take of this.#waiting) {
      this.#waiting.delete(take);
      take(this.#limit.enter());
      return;
    }
  }
}
