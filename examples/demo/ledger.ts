/** A delivery whose handler ran more or less often than expected. */
export interface Miscount {
  readonly delivery: string;
  readonly expected: number;
  readonly actual: number;
}

/** Records which deliveries should have reached the handler, and which did. */
export interface Ledger {
  /** Counts a run. Use it as a handler. */
  readonly count: (record: unknown, context: { readonly id: string }) => void;
  /** Enters a request under its delivery id, with the expected outcome. */
  readonly enter: (id: string, delivery: string, expected: string | undefined) => void;
  readonly miscounts: () => readonly Miscount[];
  /** How many deliveries were entered. */
  readonly size: () => number;
}

/** The outcomes for which the handler runs; for all others it must not. */
const RUNNING_OUTCOMES = ["handled", "handler_failed"];

export function createLedger(): Ledger {
  const runs = new Map<string, number>();
  const entries = new Map<string, { delivery: string; expected: number }>();
  return {
    count(_record, { id }) {
      runs.set(id, (runs.get(id) ?? 0) + 1);
    },
    enter(id, delivery, outcome = "") {
      const entry = entries.get(id) ?? { delivery, expected: 0 };
      if (RUNNING_OUTCOMES.includes(outcome)) entry.expected += 1;
      entries.set(id, entry);
    },
    miscounts() {
      const ids = new Set([...entries.keys(), ...runs.keys()]);
      return [...ids]
        .map((id) => {
          // An id that was never sent: something got in.
          const entry = entries.get(id) ?? { delivery: "a delivery of an unknown id", expected: 0 };
          return { ...entry, actual: runs.get(id) ?? 0 };
        })
        .filter(({ expected, actual }) => expected !== actual);
    },
    size: () => entries.size,
  };
}
