import type { OwnLimits } from "../plan/mode.js";

/** What a mode guarantees about the effect of a delivery. */
export type Guarantee =
  /** Once, unless a claim was lost: each double is caused by a crash or a lost lease. */
  | "lease"
  /** Exactly once: the effect is a row of the transaction that remembers the delivery. */
  | "transactional"
  /** Exactly one job, finished once. Its runs may double only for the reasons of lease mode. */
  | "inbox";

/** One answered request. */
export interface Answer {
  readonly id: string;
  /** Arrival of the answer, in milliseconds of the shared clock. */
  readonly at: number;
  readonly status: number;
  /** Outcome in the body of the answer. */
  readonly outcome: string | undefined;
}

/** A fault of a receiver or of the shared store. Times in milliseconds of the shared clock. */
export type Interruption =
  | {
      readonly kind: "kill" | "stop";
      readonly receiver: number;
      readonly from: number;
      readonly to: number;
    }
  | {
      /** `forgot`: the store has lost what it confirmed in this time. */
      readonly kind: "store" | "forgot";
      readonly from: number;
      readonly to: number;
    };

/** One delivery, and how it ended at the sender. */
export interface Delivery {
  readonly id: string;
  readonly end: "acknowledged" | "given_up" | "exhausted" | "stopped";
}

/** All records of the run of one mode. */
export interface History {
  readonly guarantee: Guarantee;
  /** How long a run may be paused before another process may take over its delivery. Milliseconds. */
  readonly holdMs: number;
  readonly deliveries: readonly Delivery[];
  /** Answers to requests that the gateway signed, including redeliveries. */
  readonly answers: readonly Answer[];
  /** Answers to requests that it did not sign. */
  readonly forgedAnswers: readonly Answer[];
  readonly forgedIds: ReadonlySet<string>;
  /** The ledger lines of all receivers, in any order. */
  readonly lines: readonly LedgerLine[];
  readonly interruptions: readonly Interruption[];
  /** Ids in the store at the end, in any state. */
  readonly storedIds: readonly string[];
  /**
   * One id for each effect that must exist exactly once: the rows written through `context.tx`, or the jobs of
   * the queue. Undefined in lease mode, where the ledger has the effects.
   */
  readonly exactIds: readonly string[] | undefined;
  /** Unfinished jobs at the end of the run, in inbox mode. The lab may add the state of a job to its id. */
  readonly unfinishedIds: readonly string[];
  /** One id for each job that the engine keeps as dead at the end of the run. */
  readonly deadIds: readonly string[];
  /** Limits of this mode, in addition to the common rules. */
  readonly limits: OwnLimits;
  /** The largest number of the receivers' connections at the store's server; undefined if not counted. */
  readonly mostConnections: number | undefined;
  /** Last output of receivers that ended by themselves. */
  readonly unexpectedExits: readonly string[];
}

/** Content of a line in a receiver's ledger. */
export type LedgerEvent =
  /** The handler was called. */
  | {
      readonly kind: "start";
      readonly id: string;
      readonly run: number;
      readonly takeover: boolean;
    }
  /**
   * `effect`: it has happened; in a transaction, from the handler's point of view. `end` and `failed`: the handler
   * returned or threw. `stuck`: it never settles. `crash`: it kills its process now. `lost`: its signal aborted.
   */
  | {
      readonly kind: "effect" | "end" | "failed" | "stuck" | "crash" | "lost";
      readonly id: string;
      readonly run: number;
    }
  /** The store or the queue has recorded the success. */
  | { readonly kind: "settled"; readonly id: string }
  /** The receiver reported that it could not record the success in the store or the queue. */
  | { readonly kind: "unsettled"; readonly id: string }
  /** It has replayed this many dead jobs. It had listed as many more that it then did not find. */
  | { readonly kind: "replayed"; readonly count: number; readonly notFound: number }
  /** The whole process was paused until now. */
  | { readonly kind: "stall"; readonly ms: number };

/** A line with its process and time. */
export type LedgerLine = LedgerEvent & {
  /** Number of the process. Each start has its own number. */
  readonly receiver: number;
  /** Time in milliseconds of the shared clock. */
  readonly at: number;
};
