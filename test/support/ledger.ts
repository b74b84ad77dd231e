import { deferred } from "./deferred.js";

/** The effects of handlers, for the probes of `receiverConformance`. */
export type Ledger = ReturnType<typeof createLedger>;

/** Delay of a slow effect for a receiver without its own time-out. Milliseconds. */
const SLOW_MS = 1_500;

/** Makes an empty ledger. `slowMs`: how long a slow effect takes, which must be longer than the receiver waits. */
export function createLedger(slowMs = SLOW_MS) {
  const counts = new Map<string, number>();
  const pending: (() => void)[] = [];
  let isFailing = false;
  let slow: { readonly over: () => Promise<void>; readonly late: Promise<void>[] } | undefined;
  const count = (id: string) => {
    counts.set(id, (counts.get(id) ?? 0) + 1);
  };
  return {
    /** Records the effect of a handler. Waits in `whileSlow`, then throws in `whileFailing`. */
    record: ({ id }: { readonly id: string }): void | Promise<void> => {
      const effect = () => {
        if (isFailing) throw new Error("no database");
        count(id);
      };
      if (slow === undefined) {
        effect();
        return;
      }
      const late = slow.over().then(effect);
      slow.late.push(late.catch(() => undefined));
      return late;
    },
    handled: (id: string) => {
      const count = counts.get(id) ?? 0;
      for (const work of pending.splice(0)) work();
      return count;
    },
    /** Runs the work after the ledger is read the next time, which is later than any answer. */
    later: (work: () => void) => void pending.push(work),
    whileFailing: async <T>(work: () => Promise<T>): Promise<T> => {
      isFailing = true;
      try {
        return await work();
      } finally {
        isFailing = false;
      }
    },
    whileSlow: async <T>(work: () => Promise<T>): Promise<T> => {
      const over = deferred();
      const late: Promise<void>[] = [];
      let timer: NodeJS.Timeout | undefined;
      slow = {
        late,
        over() {
          // From the first handler on: on a busy machine its request comes late.
          timer ??= setTimeout(over.resolve, slowMs);
          return over.promise;
        },
      };
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
