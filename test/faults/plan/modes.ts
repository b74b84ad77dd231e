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
}

/** One way to set receivers up, and what it is put through. */
export interface Mode {
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
}

const SERVER_FAULTS: FaultCounts = {
  ...{ kills: 16, stops: 4, restarts: 2, cuts: 8 },
  ...{ blackHoles: 1, holds: 2, lostAnswers: 4, latencies: 2 },
};
const FILE_FAULTS: FaultCounts = {
  ...{ kills: 16, stops: 4, restarts: 0, cuts: 0 },
  ...{ blackHoles: 0, holds: 0, lostAnswers: 0, latencies: 0 },
};

/** The shortest lease that a receiver takes is a second. */
const LEASE_MS = 1_500;
const LEASE_HANDLER: HandlerTimes = { maxMs: 15, longMs: 1.3 * LEASE_MS };

/** The modes of a whole run. */
export const MODES: readonly Mode[] = [
  {
    ...{ setup: "lease-redis", title: "lease, Redis", guarantee: "lease", engine: "redis" },
    ...{ deliveries: 6_000, holdMs: LEASE_MS, handler: LEASE_HANDLER, faults: SERVER_FAULTS },
  },
  {
    ...{ setup: "lease-postgres", title: "lease, PostgreSQL", guarantee: "lease" },
    ...{ engine: "postgres", deliveries: 6_000, holdMs: LEASE_MS, handler: LEASE_HANDLER },
    faults: SERVER_FAULTS,
  },
  {
    ...{ setup: "lease-sqlite", title: "lease, SQLite", guarantee: "lease", engine: "sqlite" },
    ...{ deliveries: 3_500, holdMs: LEASE_MS, handler: LEASE_HANDLER, faults: FILE_FAULTS },
  },
  {
    ...{ setup: "transactions-postgres", title: "transactional, PostgreSQL" },
    ...{ guarantee: "transactional", engine: "postgres", deliveries: 6_000, holdMs: LEASE_MS },
    ...{ handler: LEASE_HANDLER, faults: SERVER_FAULTS },
  },
  {
    ...{ setup: "transactions-sqlite", title: "transactional, SQLite" },
    ...{ guarantee: "transactional", engine: "sqlite", deliveries: 3_500, holdMs: LEASE_MS },
    // A handler holds the write lock of the file.
    ...{ handler: { maxMs: 0, longMs: 0 }, faults: FILE_FAULTS },
  },
  {
    ...{ setup: "inbox-pg-boss", title: "inbox, pg-boss", guarantee: "inbox" },
    ...{ engine: "postgres", deliveries: 3_500, holdMs: 2_000 },
    ...{ handler: { maxMs: 15, longMs: 0 }, faults: SERVER_FAULTS },
  },
  {
    ...{ setup: "inbox-bullmq", title: "inbox, BullMQ", guarantee: "inbox", engine: "redis" },
    ...{ deliveries: 3_500, holdMs: 2_000, handler: LEASE_HANDLER, faults: SERVER_FAULTS },
  },
];
