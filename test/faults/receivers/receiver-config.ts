import type { Flaw } from "../plan/flawed-receivers.js";
import type { Adapter, HandlerTimes, OwnOptions, Setup } from "../plan/mode.js";

/** Configuration of a receiver's process, passed as JSON in its first argument. */
export interface ReceiverConfig {
  readonly setup: Setup;
  readonly flaw?: Flaw;
  /** Number of the process. */
  readonly receiver: number;
  readonly ledgerFile: string;
  /** Port of the store at 127.0.0.1; 0 for SQLite. */
  readonly port: number;
  /** Path of the SQLite file. */
  readonly databaseFile: string;
  readonly secret: string;
  /** The secret is looked up in this time; undefined for a static one. Milliseconds. */
  readonly secretMs?: number | undefined;
  readonly holdMs: number;
  readonly handler: HandlerTimes;
  /** Receiver options of the mode. */
  readonly options: OwnOptions;
  /** As in `Mode`. */
  readonly retryLimit?: number | undefined;
  /** Share of failing runs, from 0 to 1. */
  readonly failRate: number;
  /** Error of its wall clock in milliseconds. */
  readonly clockOffMs: number;
  readonly seed: number;
  /** As in `Mode`. */
  readonly poolMax?: number | undefined;
  readonly locksPairs?: true | undefined;
  readonly adapter?: Adapter | undefined;
  readonly blocksMs?: number | undefined;
  readonly refusesCompletionsMs?: number | undefined;
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
