import type { MaybePromise } from "../common/promises.js";
import { within } from "../common/timers.js";
import { STORE_CALLS, type StoreCall, type Tally } from "./tally.js";

/**
 * Bounds the calls of a store, and tells the tally how long they took and which failed. A call that
 * answers synchronously is not measured: it would cost a tenth of a delivery with the memory store.
 */
export class StoreCalls {
  readonly #tally: Tally;

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  /** Counts a call that failed. */
  failed(call: StoreCall): void {
    this.#tally.storeFailures[call] += 1;
  }

  /** Waits for `work` for at most `ms` milliseconds, then rejects with a `DeadlineError`. */
  within<T>(ms: number, call: StoreCall, work: PromiseLike<T>): Promise<T> {
    const startedAt = performance.now();
    const bounded = within(ms, `store.${call}`, work);
    const record = (): void => {
      const seconds = (performance.now() - startedAt) / 1000;
      this.#tally.durations?.record("store", seconds, OPERATION[call]);
    };
    bounded.then(record, () => {
      this.failed(call);
      record();
    });
    return bounded;
  }

  /** Calls a method that may throw, and waits for it. */
  async run<T>(ms: number, call: StoreCall, work: () => MaybePromise<T>): Promise<T> {
    return this.within(ms, call, (async () => work())());
  }
}

/** The attributes of each call, made once. */
const OPERATION = Object.fromEntries(
  STORE_CALLS.map((operation) => [operation, { operation }]),
) as Readonly<Record<StoreCall, { readonly operation: StoreCall }>>;
