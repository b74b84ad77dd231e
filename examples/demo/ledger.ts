import type { Answer } from "./gateway.js";

/** One request: what was sent, what had to be answered and what was. */
export interface Row {
  readonly delivery: string;
  readonly done: string;
  readonly expected: Answer;
  readonly actual: Answer & { readonly ms: number };
}

/** A delivery whose handler did not run as often as it has to. */
export interface Miscount {
  readonly delivery: string;
  readonly expected: number;
  readonly actual: number;
}

/** Remembers which deliveries had to reach the handler. */
export interface Ledger {
  /** Enters a request under its delivery id, and returns its row. */
  enter(id: string, row: Row): Row;
  /** Compares with the runs that the handler has counted. */
  miscounts(runs: ReadonlyMap<string, number>): Miscount[];
}

/** The outcomes for which the handler runs; for all others it must not. */
const RUNNING_OUTCOMES = new Set(["handled", "handler_failed"]);

export function createLedger(): Ledger {
  const entries = new Map<string, { delivery: string; expected: number }>();
  return {
    enter(id, row) {
      const entry = entries.get(id) ?? { delivery: row.delivery, expected: 0 };
      if (RUNNING_OUTCOMES.has(row.expected.outcome)) entry.expected += 1;
      entries.set(id, entry);
      return row;
    },
    miscounts(runs) {
      const ids = new Set([...entries.keys(), ...runs.keys()]);
      return [...ids]
        .map((id) => {
          // An id that was never sent is one that an attacker got in.
          const entry = entries.get(id) ?? { delivery: "a delivery of an unknown id", expected: 0 };
          return { ...entry, actual: runs.get(id) ?? 0 };
        })
        .filter(({ expected, actual }) => expected !== actual);
    },
  };
}

/** Whether the answer is the expected one. */
export function isAsExpected({ expected, actual }: Row): boolean {
  return actual.status === expected.status && actual.outcome === expected.outcome;
}
