import { memoryStore, type DeliveryStore } from "../../src/index.js";
import { deferred } from "./deferred.js";

/** One call of a store. */
export interface StoreCall {
  readonly method: keyof DeliveryStore;
  readonly key: string;
  readonly owner: string;
}

/** A store that records every call before it forwards it. */
export interface SpiedStore {
  readonly store: DeliveryStore;
  readonly calls: StoreCall[];
  /** Number of calls of a method. */
  readonly count: (method: keyof DeliveryStore) => number;
}

/** Spies on a real store. `faults` replace its methods. */
export function spiedStore(
  faults: Partial<DeliveryStore> = {},
  inner: DeliveryStore = memoryStore(),
): SpiedStore {
  const calls: StoreCall[] = [];
  const faulty: DeliveryStore = { ...inner, ...faults };
  const note = (method: keyof DeliveryStore, key: string, owner: string) => {
    calls.push({ method, key, owner });
  };
  return {
    calls,
    count: (method) => calls.filter((call) => call.method === method).length,
    store: {
      claim(key, owner, times) {
        note("claim", key, owner);
        return faulty.claim(key, owner, times);
      },
      renew(key, owner, options) {
        note("renew", key, owner);
        return faulty.renew(key, owner, options);
      },
      complete(key, owner, options) {
        note("complete", key, owner);
        return faulty.complete(key, owner, options);
      },
      release(key, owner) {
        note("release", key, owner);
        return faulty.release(key, owner);
      },
    },
  };
}

/** Resolves at the first call of a method. The method works as before. */
export function firstCall(
  store: DeliveryStore,
  method: "claim" | "renew" | "complete" | "release",
): Promise<void> {
  const called = deferred();
  const original = store[method].bind(store) as (...call: never[]) => unknown;
  Object.assign(store, {
    [method]: (...call: never[]) => {
      called.resolve();
      return original(...call);
    },
  });
  return called.promise;
}
