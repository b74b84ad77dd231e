import type { OwnLimits } from "../plan/mode.js";
import type { LedgerLine } from "./ledger-line.js";

/** What a mode promises of a delivery's effect. */
export type Guarantee =
  /** Once, except where a claim was lost: each double has a crash or a lease loss behind it. */
  | "lease"
  /** Exactly once: the effect is a row of the transaction that remembers the delivery. */
  | "transactional"
  /** Exactly one job, finished once; its runs double only as in lease mode. */
  | "inbox";

/** One request that was answered. */
export interface Answer {
  readonly id: string;
  /** Milliseconds of the shared clock when the answer was there. */
  readonly at: number;
  readonly status: number;
  /** The outcome that the answer's body names. */
  readonly outcome: string | undefined;
}

/** What the harness did to a receiver, or to the store of all. Milliseconds of the shared clock. */
export type Interruption =
  | {
      readonly kind: "kill" | "stop";
      readonly receiver: number;
      readonly from: number;
      readonly to: number;
    }
  | { readonly kind: "store"; readonly from: number; readonly to: number };

/** One delivery of the sender, and how it ended there. */
export interface Delivery {
  readonly id: string;
  readonly end: "acknowledged" | "given_up" | "exhausted" | "stopped";
}

/** All that was written down of one mode's run. */
export interface History {
  readonly guarantee: Guarantee;
  /** For how long a run may stand still before another process may take its delivery over. */
  readonly holdMs: number;
  readonly deliveries: readonly Delivery[];
  /** To requests that the gateway signed, copies included. */
  readonly answers: readonly Answer[];
  /** To requests that it did not. */
  readonly forgedAnswers: readonly Answer[];
  readonly forgedIds: ReadonlySet<string>;
  /** The lines of all receivers, in any order. */
  readonly lines: readonly LedgerLine[];
  readonly interruptions: readonly Interruption[];
  /** Ids that the store holds in the end, whatever it says of them. */
  readonly storedIds: readonly string[];
  /**
   * One id for each effect that has to be there exactly once: the rows that were written through
   * `context.tx`, or the jobs of the queue. Undefined in lease mode, where the ledger has the effects.
   */
  readonly exactIds: readonly string[] | undefined;
  /** Jobs that were not finished when the run ended, in inbox mode. */
  readonly unfinishedIds: readonly string[];
  /** What this mode's receivers are judged by beyond the rules of all. */
  readonly limits: OwnLimits;
  /** The most connections of receivers that the store's server had; undefined where none were counted. */
  readonly mostConnections: number | undefined;
  /** What receivers that ended by themselves said. */
  readonly unexpectedExits: readonly string[];
}
