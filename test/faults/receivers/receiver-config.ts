import type { Flaw } from "../plan/known-bad.js";
import type { HandlerTimes, OwnOptions, Setup } from "../plan/mode.js";

/** What a receiver's process is started with, as JSON in its first argument. */
export interface ReceiverConfig {
  readonly setup: Setup;
  readonly flaw?: Flaw;
  /** Number of the process. */
  readonly receiver: number;
  readonly ledgerFile: string;
  /** Where the store is: a port of 127.0.0.1, or for SQLite 0. */
  readonly port: number;
  /** The file of SQLite. */
  readonly databaseFile: string;
  readonly secret: string;
  readonly holdMs: number;
  readonly handler: HandlerTimes;
  /** What the receiver is made with beside what all modes have. */
  readonly options: OwnOptions;
  /** Share of the runs that fail, from 0 to 1. */
  readonly failRate: number;
  /** How far its wall clock is off. Milliseconds. */
  readonly clockOffMs: number;
  readonly seed: number;
}

/** The queue's name, in both engines. */
export const QUEUE = "faults";
/** The table of effects, in both databases. */
export const EFFECTS_TABLE = "effects";
