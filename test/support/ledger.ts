import { deferred } from "./deferred.js";

/** What handlers have done, for the probes of `receiverConformance`. */
export interface Ledger {
  /** The effect of a handler. Throws in `whileFailing`, and is late in `whileSlow`. */
  readonly record: (delivery: { readonly id: string }) => void | Promise<void>;
  readonly handled: (id: string) => number;
  /** Does the work after the ledger has been looked at the next time: later than any answer. */
  readonly later: (work: () => void) => void;
  readonly whileFailing: <T>(work: () => Promise<T>) => Promise<T>;
  readonly whileSlow: <T>(work: () => Promise<T>) => Promise<T>;
}

/** When a slow effect comes where the receiver has no time-out of its own. */
const SLOW_MS = 1_500;

/** Makes a ledger with nothing in it. */
export function createLedger(): Ledger {
  const counts = new Map<string, number>();
  const pending: (() => void)[] = [];
  let isFailing = false;
  let slow: { readonly over: Promise<void>; readonly late: Promise<void>[] } | undefined;
  const count = (id: string): void => {
    counts.set(id, (counts.get(id) ?? 0) + 1);
  };
  return {
    record({ id }) {
      if (isFailing) throw new Error("no database");
      if (slow === undefined) {
        count(id);
        return;
      }
      const effect = slow.over.then(() => {
        count(id);
      });
      slow.late.push(effect);
      return effect;
    },
    handled(id) {
      const count = counts.get(id) ?? 0;
      for (const work of pending.splice(0)) work();
      return count;
    },
    later: (work) => pending.push(work),
    async whileFailing(work) {
      isFailing = true;
      try {
        return await work();
      } finally {
        isFailing = false;
      }
    },
    async whileSlow(work) {
      const over = deferred();
      const timer = setTimeout(over.resolve, SLOW_MS);
      const late: Promise<void>[] = [];
      slow = { over: over.promise, late };
      try {
        return await work();
      } finally {
        clearTimeout(timer);
        slow = undefined;
        over.resolve();
        await Promise.all(late);
      }
    },
  };
}
