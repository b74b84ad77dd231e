/**
 * The clock of a twin: `createScaledClock` for an endpoint over the network, `createVirtualClock` for a
 * receiver in this process.
 *
 * @experimental
 */
export interface TwinClock {
  /** Unix time in milliseconds. Requests get it as their timestamp. */
  readonly now: () => number;
  /** Resolves when `ms` milliseconds have passed on this clock. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Calls `run` when `ms` milliseconds have passed on this clock. Returns a function that cancels it. */
  readonly startTimer: (ms: number, run: () => void) => () => void;
  /**
   * Only on a clock whose time jumps: pauses the clock while `work` runs, except while `work` sleeps on
   * this clock.
   */
  readonly hold?: <T>(work: () => Promise<T>) => Promise<T>;
}
