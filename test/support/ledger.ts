import { deferred } from "./deferred.js";

/** The effects of handlers, for the probes of `receiverConformance`. */
export interface Ledger {
  /** Records the effect of a handler. Throws in `whileFailing`, and waits in `whileSlow`. */
  readonly record: (delivery: { readonly id: string }) => void | Promise<void>;
  readonly handled: (id: string) => number;
  /** Runs the work after the ledger is read the next time, which is later than any answer. */
  readonly later: (work: () => void) => void;
  readonly whileFailing: <T>(work: () => Promise<T>) => Promise<T>;
  readonly whileSlow: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Delay of a slow effect for a receiver without its own time-out. Milliseconds. */
const SLOW_MS = 1_500;

/** Makes an empty ledger. */
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
