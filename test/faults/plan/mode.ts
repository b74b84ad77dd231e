import type { Guarantee } from "../checker/history.js";
import type { Flaw } from "./known-bad.js";

/** A store or a queue, as receivers are set up with it. */
export type Setup =
  | "lease-redis"
  | "lease-postgres"
  | "lease-sqlite"
  | "transactions-postgres"
  | "transactions-sqlite"
  | "inbox-pg-boss"
  | "inbox-bullmq";

/** The server behind a store. SQLite has none. */
export type Engine = "redis" | "postgres" | "sqlite";

/** How long handlers take, at random. */
export interface HandlerTimes {
  /** Before the effect and after it, each from 0 to this. Milliseconds. */
  readonly maxMs: number;
  /** Of one run in a hundred, before its effect: longer than the lease where this is not 0. */
  readonly longMs: number;
  /** One delivery in so many has a first run that never settles. Default none. */
  readonly stuckOneIn?: number;
}

/** Options of the receivers that a mode sets in its own way. */
export interface OwnOptions {
  readonly handlerTimeoutMs?: number;
  readonly handlerMaxMs?: number;
  readonly maxConcurrentDeliveries?: number;
  readonly timestampToleranceMs?: number;
}

/** How a mode's traffic differs from that of the others. */
export interface OwnTraffic {
  /** Each attempt of a delivery repeats the timestamp of the first. */
  readonly repeatsTimestamp?: true;
  /** So many deliveries are open from the start on and all the time. */
  readonly openAtOnce?: number;
}

/** What a mode is judged by beyond the rules of all. Each is left out where it does not apply. */
export interface OwnLimits {
  /** Handlers that one receiver may run at once. */
  readonly handlersAtOnce?: number;
  /** For how long a run may keep others from its delivery. Milliseconds. */
  readonly heldMs?: number;
  /** Server connections of all receivers. */
  readonly connections?: number;
}

/** One way to set receivers up, and what it is put through. */
export interface Mode {
  /** For `--mode`, and for the folder of its files. */
  readonly name: string;
  readonly setup: Setup;
  readonly title: string;
  readonly guarantee: Guarantee;
  readonly engine: Engine;
  readonly flaw?: Flaw;
  /** How many deliveries the sender makes. */
  readonly deliveries: number;
  /**
   * For how long a claim, or a job, is held without a sign of life: the lease, the expiry of a job, or
   * its lock. Milliseconds. A receiver that is stopped is so for longer.
   */
  readonly holdMs: number;
  readonly handler: HandlerTimes;
  readonly faults: FaultCounts;
  /** Share of the handlers' runs that fail, from 0 to 1. Default 0.1. */
  readonly failRate?: number;
  /** How long its storm is, where that is not the plan's. Milliseconds. */
  readonly stormMs?: number;
  /** How long its table is locked, where that is not the schedule's time. Milliseconds. */
  readonly lockMs?: number;
  /** No receiver has another time. Default two of four have. */
  readonly clocksAgree?: true;
  readonly options?: OwnOptions;
  readonly traffic?: OwnTraffic;
  readonly limits?: OwnLimits;
}

/** How often each fault is made. Those of the store need a server. */
export interface FaultCounts {
  readonly kills: number;
  readonly stops: number;
  readonly restarts: number;
  readonly cuts: number;
  readonly blackHoles: number;
  readonly holds: number;
  readonly lostAnswers: number;
  readonly latencies: number;
  /** The table of deliveries is locked by another client. PostgreSQL alone. */
  readonly locks: number;
}

/** Of a store behind a server. */
export const SERVER_FAULTS: FaultCounts = {
  ...{ kills: 16, stops: 4, restarts: 2, cuts: 8 },
  ...{ blackHoles: 1, holds: 2, lostAnswers: 4, latencies: 2, locks: 0 },
};
/** Of a store in a file. */
export const FILE_FAULTS: FaultCounts = {
  ...{ kills: 16, stops: 4, restarts: 0, cuts: 0 },
  ...{ blackHoles: 0, holds: 0, lostAnswers: 0, latencies: 0, locks: 0 },
};

/** No fault at all: the base of modes whose trouble is another. */
export const NO_FAULTS: FaultCounts = { ...FILE_FAULTS, kills: 0, stops: 0 };

/** The shortest lease that a receiver takes is a second. */
export const LEASE_MS = 1_500;
