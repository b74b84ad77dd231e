/** What handlers have done, for the probes of `receiverConformance`. */
export interface Ledger {
  /** The effect of a handler. Throws while it is told to fail. */
  readonly record: (delivery: { readonly id: string }) => void;
  readonly handled: (id: string) => number;
  /** Does the work after the ledger has been looked at the next time: later than any answer. */
  readonly later: (work: () => void) => void;
  readonly whileFailing: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Makes a ledger with nothing in it. */
export function createLedger(): Ledger {
  const counts = new Map<string, number>();
  const pending: (() => void)[] = [];
  let isFailing = false;
  return {
    record({ id }) {
      if (isFailing) throw new Error("no database");
      counts.set(id, (counts.get(id) ?? 0) + 1);
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
  };
}
