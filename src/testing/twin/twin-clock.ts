/**
 * The time that a twin lives in: `createScaledClock` for an endpoint over the network,
 * `createVirtualClock` for a receiver in this process.
 */
export interface TwinClock {
  /** Unix time in milliseconds: what requests are stamped with. */
  readonly now: () => number;
  /** Resolves when `ms` milliseconds have passed on this clock. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Calls `run` when `ms` milliseconds have passed on this clock; returns how to cancel that. */
  readonly startTimer: (ms: number, run: () => void) => () => void;
  /**
   * Only on a clock whose time jumps: its time stands still while `work` runs, other than where that
   * sleeps on this clock itself.
   */
  readonly hold?: <T>(work: () => Promise<T>) => Promise<T>;
}
