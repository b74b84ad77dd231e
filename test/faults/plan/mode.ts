import { ENTRIES } from "../../../release/entries.js";
import type { Plug } from "../../../release/entry.js";
import type { Guarantee } from "../checker/history.js";
import type { Flaw } from "./flawed-receivers.js";

/** A store or a queue of the receivers: its file in ../receivers/setups. */
export type Setup = `${Plug["kind"]}-${string}`;

/** An adapter other than `nodeHandler`. */
type Adapter = "fetch" | "hono" | "lambda";

/** Random durations of handlers. */
interface HandlerTimes {
  /** Maximum time before the effect and after it. Milliseconds. */
  readonly maxMs: number;
  /** Time before the effect in one run of a hundred. Longer than the lease, or 0. Milliseconds. */
  readonly longMs: number;
  /** The first run of one delivery in this many never settles. Default: none. */
  readonly stuckOneIn?: number;
  /** How many deliveries kill the process of each of their runs. Default: none. */
  readonly killing?: number;
}

/** Receiver options that a mode can set. */
interface OwnOptions {
  readonly handlerTimeoutMs?: number;
  readonly handlerMaxMs?: number;
  readonly dependencyTimeoutMs?: number;
  readonly maxConcurrentDeliveries?: number;
  readonly timestampToleranceMs?: number;
  readonly once?: "record";
}

/** How the traffic of a mode differs from the default. */
export interface OwnTraffic {
  /** Each attempt of a delivery repeats the timestamp of the first. */
  readonly repeatsTimestamp?: true;
  /** Number of deliveries that are open from the start and all the time. */
  readonly openAtOnce?: number;
  /** Each record comes under two ids at once. */
  readonly twoWebhooks?: true;
  /** Number of forgeries with each delivery. Default 0.02. */
  readonly forgeryRate?: number;
}

/** Limits of a mode, in addition to the common rules. Absent limits are not checked. */
export interface OwnLimits {
  /** Maximum number of handlers at once in one receiver. */
  readonly handlersAtOnce?: number;
  /** Maximum time for which a run may block its delivery. Milliseconds. */
  readonly heldMs?: number;
  /** Maximum number of server connections of all receivers. */
  readonly connections?: number;
  /** Maximum number of deliveries that use all their attempts. */
  readonly exhausted?: number;
  /** Maximum number of processes that one job kills. After that it must be dead. */
  readonly crashes?: number;
}

/** A configuration of receivers, with its traffic and faults. */
export interface Mode {
  /** Name for `--mode` and for the folder of its files. */
  readonly name: string;
  readonly setup: Setup;
  readonly title: string;
  readonly guarantee: Guarantee;
  /** The server behind its store, by its name in `test/engines.ts`. */
  readonly engine: string;
  readonly flaw?: Flaw;
  /** That of its store or queue in `release/entries.ts`. */
  readonly clock?: Plug["clock"] | undefined;
  /** Number of deliveries. */
  readonly deliveries: number;
  /**
   * How long a claim or a job is held without a sign of life: the lease, the job's expiry, or its lock.
   * Milliseconds. A receiver is stopped for longer than this.
   */
  readonly holdMs: number;
  readonly handler: HandlerTimes;
  readonly faults: FaultCounts;
  /** How often a job that has failed runs again before it is dead. Default 100. Only inboxes. */
  readonly retryLimit?: number;
  /** Share of failing runs, from 0 to 1. Default 0.1. */
  readonly failRate?: number;
  /** Duration of the fault injection. Milliseconds. Default: that of the plan. */
  readonly faultsMs?: number;
  /** As in `RunTimes`. Default: that of the plan. */
  readonly healMs?: number;
  /** How long the table is locked. Milliseconds. Default: that of the schedule. */
  readonly lockMs?: number;
  /** Number of receivers at a time. Default 4. */
  readonly receivers?: number;
  /** A receiver blocks its own process for this long, three times. Milliseconds. Only leases. */
  readonly blocksMs?: number;
  /** The store refuses completions for this long, takes them for as long, and so on. Milliseconds. Only leases. */
  readonly refusesCompletionsMs?: number;
  /** The receivers' secret is a function that takes this long. Milliseconds. */
  readonly secretMs?: number;
  /** Whether all receivers have the right time. By default two of the four do not. */
  readonly clocksAgree?: true;
  /** Settings of the server, as a role may have them. Only PostgreSQL. */
  readonly server?: Readonly<Record<string, string>>;
  /** The server has a standby. A commit waits for a synchronous one. Only PostgreSQL. */
  readonly standby?: "synchronous" | "asynchronous";
  /** Size of a receiver's pool. Default 12. Only PostgreSQL. */
  readonly poolMax?: number;
  /** Each handler locks two rows that all share, half of them in the opposite order. Only transactions. */
  readonly locksPairs?: true;
  /** How the receivers are mounted. Default `nodeHandler`. */
  readonly adapter?: Adapter;
  readonly options?: OwnOptions;
  readonly traffic?: OwnTraffic;
  readonly limits?: OwnLimits;
}

/** How long a fault lasts: minimum and maximum extra time in milliseconds. With `hold` it counts in lengths of a claim. */
export interface FaultLength {
  readonly least: number;
  readonly more: number;
  readonly hold?: true;
}

/** Each kind of fault, and how long it lasts. Faults of the store need a server. */
export const FAULT_LENGTHS = {
  kills: { least: 20, more: 400 },
  stops: { least: 1.4, more: 0.5, hold: true },
  restarts: { least: 200, more: 700 },
  cuts: { least: 0, more: 0 },
  blackHoles: { least: 1.1, more: 0.4, hold: true },
  // Some longer and some shorter than the time-out of a claim.
  holds: { least: 0.3, more: 0.7, hold: true },
  lostAnswers: { least: 60, more: 200 },
  latencies: { least: 600, more: 600 },
  // Another client locks the table of deliveries, for longer than drivers and pools wait, and many times longer than a
  // receiver waits. Only PostgreSQL and MySQL.
  locks: { least: 15_000, more: 0 },
  // Another client locks rows of deliveries; with SQLite, the file. Some longer and some shorter than a receiver waits
  // for its store. Only PostgreSQL, MySQL and SQLite.
  rowLocks: { least: 200, more: 1_800 },
  // The server ends the connections of all receivers, again and again: time for a pool to open its connections anew, so
  // that some are ended in the moment in which they are ready. Only PostgreSQL.
  endings: { least: 200, more: 600 },
  // The whole server is suspended, for longer than all attempts of a delivery take. Its connections stay open. Only
  // PostgreSQL and Redis.
  freezes: { least: 13_000, more: 0 },
  // The server accepts no writes, like a standby after a failover. Only PostgreSQL.
  readOnlys: { least: 200, more: 1_000 },
  // The server has no room for new keys. Only Redis.
  fulls: { least: 200, more: 1_000 },
  // By how much the wall clock of a receiver jumps, forward or back.
  jumps: { least: 600_000, more: 0 },
  // How long a replica has no writes before it takes over. At most once. Only Redis, and PostgreSQL with `standby`.
  failovers: { least: 500, more: 500 },
  // Two receivers replay all dead jobs of their queue at the same moment. Only inboxes.
  replays: { least: 0, more: 0 },
} as const satisfies Readonly<Record<string, FaultLength>>;

type FaultKind = keyof typeof FAULT_LENGTHS;

/** Number of faults of each kind. */
export type FaultCounts = Readonly<Record<FaultKind, number>>;

/** No faults: the base of the others. */
export const NO_FAULTS = Object.fromEntries(
  Object.keys(FAULT_LENGTHS).map((kind) => [kind, 0]),
) as FaultCounts;

/** A receiver accepts leases from one second on. */
export const LEASE_MS = 1_500;
/** How long the lab's queues hold a job. */
const JOB_MS = 2_000;

/** The stores and queues of `release/entries.ts` that the lab runs. `title` is that of what it runs them on. */
export const SUBJECTS = ENTRIES.flatMap(({ name: entry, engine, plugs = [] }) =>
  plugs.flatMap((plug) => {
    if (engine === undefined || plug.noFaults !== undefined) return [];
    const setup: Setup = `${plug.kind}-${entry}`;
    return { ...plug, entry, engine, setup, title: plug.testedOn ?? plug.title };
  }),
);

const GUARANTEES = { lease: "lease", transactions: "transactional", inbox: "inbox" } as const;

/** What a mode says beside its store or queue. Its faults are those that it names. */
export type ModeParts = Partial<Omit<Mode, "faults">> &
  Pick<Mode, "deliveries"> & { readonly faults?: Partial<FaultCounts> };

/** A mode on a store or a queue, from which its guarantee, server and hold follow. Its handlers are quick by default. */
export function modeOn(
  setup: Setup,
  name: string,
  title: string,
  parts: ModeParts,
  own: Partial<ModeParts> = {},
): Mode {
  const subject = SUBJECTS.find((one) => one.setup === setup);
  if (subject === undefined) throw new Error(`release/entries.ts has no ${setup} under faults`);
  const { kind, engine, clock, slow } = subject;
  const idsEach = parts.traffic?.twoWebhooks === true ? 2 : 1;
  return {
    name,
    setup,
    title,
    guarantee: GUARANTEES[kind],
    engine,
    clock,
    holdMs: kind === "inbox" ? JOB_MS : LEASE_MS,
    handler: { maxMs: 15, longMs: 0 },
    ...parts,
    ...own,
    ...(slow && { deliveries: slow.ids / idsEach, faultsMs: slow.faultsMs }),
    faults: { ...NO_FAULTS, ...parts.faults, ...own.faults },
  };
}
