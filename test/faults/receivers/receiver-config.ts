import type { Mode } from "../plan/mode.js";

/** Configuration of a receiver's process, passed as JSON in its first argument: that of its mode, and its own. */
export interface ReceiverConfig extends Mode {
  /** Number of the process. */
  readonly receiver: number;
  readonly ledgerFile: string;
  /** Port of the store at 127.0.0.1; 0 for SQLite. */
  readonly port: number;
  /** Path of the SQLite file. */
  readonly databaseFile: string;
  readonly secret: string;
  /** Share of failing runs, from 0 to 1. */
  readonly failRate: number;
  /** Error of its wall clock in milliseconds. */
  readonly clockOffMs: number;
  readonly seed: number;
}

/** The queue's name, in both engines. */
export const QUEUE = "faults";
/** The table of effects, in both databases. */
export const EFFECTS_TABLE = "effects";
/** The table of pairs of rows that handlers lock, if the mode says so. */
export const PAIRS_TABLE = "pairs";
/** A pair for each last digit but one of an id, as the values of an INSERT. */
export const PAIRS = Array.from(
  "0123456789abcdef",
  (digit) => `('${digit}a', 0), ('${digit}b', 0)`,
).join();

/** Whether the clock of the whole process is wrong, or only that of the receiver (`now`). */
export function isProcessOff({ clock, clockOffMs }: ReceiverConfig): boolean {
  // Where the clocks of the processes decide, they must agree.
  return clockOffMs !== 0 && clock !== "process";
}

/** The time options and limits of a receiver. */
export function receiverTimes(config: ReceiverConfig) {
  const offMs = isProcessOff(config) ? 0 : config.clockOffMs;
  return {
    leaseMs: config.holdMs,
    handlerTimeoutMs: 4_000,
    dependencyTimeoutMs: 700,
    // With the default, a receiver that is an hour off would refuse every fresh delivery.
    timestampToleranceMs: 7_200_000,
    now: () => Date.now() + offMs,
    ...config.options,
  };
}
